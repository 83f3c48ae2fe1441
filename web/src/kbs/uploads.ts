/** The uploads of this page: they go on while the person looks at other pages. */
import { ApiError } from "../api/client";
import { type Uploaded, uploadFile } from "../api/upload";

export interface Upload {
  key: number;
  kbId: string;
  name: string;
  size: number;
  status: "waiting" | "uploading" | "known" | "failed";
  /** 0 to 1. */
  progress: number;
  error: ApiError | null;
}

type Send = typeof uploadFile;

const AT_ONCE = 2;

export class UploadQueue {
  #items: readonly Upload[] = [];
  #files = new Map<number, File>();
  #aborts = new Map<number, AbortController>();
  #listeners = new Set<() => void>();
  #next = 1;
  readonly #send: Send;
  readonly #onStored: (kbId: string, uploaded: Uploaded) => void;

  constructor(send: Send, onStored: (kbId: string, uploaded: Uploaded) => void) {
    this.#send = send;
    this.#onStored = onStored;
  }

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  items = () => this.#items;

  add(kbId: string, files: Iterable<File>) {
    const added: Upload[] = [];
    for (const file of files) {
      const key = this.#next++;
      this.#files.set(key, file);
      added.push({ key, kbId, name: file.name, size: file.size, status: "waiting", progress: 0, error: null });
    }
    this.#set([...this.#items, ...added]);
    this.#pump();
  }

  /** Cancel what runs, forget what is over. */
  remove(key: number) {
    this.#aborts.get(key)?.abort();
    this.#files.delete(key);
    this.#set(this.#items.filter((item) => item.key !== key));
  }

  clear(kbId: string) {
    this.#set(this.#items.filter((item) => item.kbId !== kbId || item.status === "waiting" || item.status === "uploading"));
  }

  #pump() {
    const running = this.#items.filter((item) => item.status === "uploading").length;
    for (const item of this.#items.filter((candidate) => candidate.status === "waiting").slice(0, AT_ONCE - running)) {
      void this.#run(item);
    }
  }

  async #run({ key, kbId }: Upload) {
    const file = this.#files.get(key);
    if (!file) return;
    const abort = new AbortController();
    this.#aborts.set(key, abort);
    this.#change(key, { status: "uploading" });
    try {
      const uploaded = await this.#send(kbId, file, (progress) => this.#change(key, { progress }), abort.signal);
      if (uploaded.isNew) this.#set(this.#items.filter((item) => item.key !== key));
      else this.#change(key, { status: "known", progress: 1 });
      this.#onStored(kbId, uploaded);
    } catch (error) {
      if (!abort.signal.aborted) {
        this.#change(key, { status: "failed", error: error instanceof ApiError ? error : new ApiError("", "", String(error), 500) });
      }
    } finally {
      this.#files.delete(key);
      this.#aborts.delete(key);
      this.#pump();
    }
  }

  #change(key: number, change: Partial<Upload>) {
    this.#set(this.#items.map((item) => (item.key === key ? { ...item, ...change } : item)));
  }

  #set(items: readonly Upload[]) {
    this.#items = items;
    for (const listener of this.#listeners) listener();
  }
}
