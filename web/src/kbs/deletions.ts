/** Deletions that can be taken back for a while: the file is gone from sight at once, from the server when time is up. */

export const UNDO_MS = 8_000;

type Delete = (fileId: string) => Promise<void>;

export class Deletions {
  #timers = new Map<string, ReturnType<typeof setTimeout>>();
  #ids: ReadonlySet<string> = new Set();
  #listeners = new Set<() => void>();
  readonly #delete: Delete;

  constructor(remove: Delete) {
    this.#delete = remove;
  }

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Files that are to be deleted, or are being deleted. */
  ids = () => this.#ids;

  add(fileId: string) {
    if (this.#ids.has(fileId)) return;
    this.#timers.set(
      fileId,
      setTimeout(() => void this.#run(fileId), UNDO_MS),
    );
    this.#set(new Set([...this.#ids, fileId]));
  }

  undo(fileId: string) {
    const timer = this.#timers.get(fileId);
    // Once it was sent, it cannot be called back.
    if (timer === undefined) return;
    clearTimeout(timer);
    this.#timers.delete(fileId);
    this.#forget(fileId);
  }

  /** Do all of it now, because the page is going away. */
  flush() {
    for (const [fileId, timer] of this.#timers) {
      clearTimeout(timer);
      void this.#run(fileId);
    }
  }

  async #run(fileId: string) {
    this.#timers.delete(fileId);
    try {
      await this.#delete(fileId);
    } catch {
      // `#delete` has told the person; here the file only comes back to sight.
    }
    this.#forget(fileId);
  }

  #forget(fileId: string) {
    this.#set(new Set([...this.#ids].filter((id) => id !== fileId)));
  }

  #set(ids: ReadonlySet<string>) {
    this.#ids = ids;
    for (const listener of this.#listeners) listener();
  }
}
