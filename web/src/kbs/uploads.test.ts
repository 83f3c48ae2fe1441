import { describe, expect, it, vi } from "vitest";
import { ApiError } from "../api/client";
import { UploadQueue } from "./uploads";

const files = (...names: string[]) => names.map((name) => new File(["x"], name));
const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("UploadQueue", () => {
  it("sends two at once, forgets what is stored and keeps what failed with its reason", async () => {
    const answers = new Map<string, (value: unknown) => void>();
    const send = vi.fn((_kb: string, file: File) =>
      new Promise((resolve, reject) => answers.set(file.name, (value) => (value instanceof Error ? reject(value) : resolve(value)))),
    );
    const stored = vi.fn();
    const queue = new UploadQueue(send as never, stored);

    queue.add("kb", files("a", "b", "c"));
    expect(queue.items().map((item) => item.status)).toEqual(["uploading", "uploading", "waiting"]);

    answers.get("a")?.({ isNew: true, file: {} });
    answers.get("b")?.(new ApiError("urn:clew:too-large", "Too large", "larger than 200 MB", 413));
    await settle();
    expect(queue.items().map((item) => [item.name, item.status])).toEqual([
      ["b", "failed"],
      ["c", "uploading"],
    ]);
    expect(queue.items()[0]?.error?.message).toBe("larger than 200 MB");

    answers.get("c")?.({ isNew: false, file: {} });
    await settle();
    expect(queue.items().map((item) => item.status)).toEqual(["failed", "known"]);
    expect(stored).toHaveBeenCalledTimes(2);

    queue.clear("kb");
    expect(queue.items()).toEqual([]);
  });

  it("cancels a running upload without an error", async () => {
    let aborted = false;
    const send = (_kb: string, _file: File, _progress: unknown, signal: AbortSignal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => {
          aborted = true;
          reject(new DOMException("cancelled", "AbortError"));
        }),
      );
    const queue = new UploadQueue(send as never, () => undefined);
    queue.add("kb", files("a"));

    queue.remove(queue.items()[0]?.key ?? 0);
    await settle();

    expect(aborted).toBe(true);
    expect(queue.items()).toEqual([]);
  });
});
