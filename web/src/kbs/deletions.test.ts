import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Deletions, UNDO_MS } from "./deletions";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("deletions", () => {
  it("are done when the time to take them back is over", async () => {
    const remove = vi.fn(async () => undefined);
    const deletions = new Deletions(remove);
    deletions.add("a");
    deletions.add("a");
    expect([...deletions.ids()]).toEqual(["a"]);
    await vi.advanceTimersByTimeAsync(UNDO_MS - 1);
    expect(remove).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(remove.mock.calls).toEqual([["a"]]);
    expect(deletions.ids().size).toBe(0);
  });

  it("can be taken back until then", async () => {
    const remove = vi.fn(async () => undefined);
    const deletions = new Deletions(remove);
    const seen = vi.fn();
    deletions.subscribe(seen);
    deletions.add("a");
    deletions.undo("a");
    await vi.advanceTimersByTimeAsync(UNDO_MS * 2);
    expect(remove).not.toHaveBeenCalled();
    expect(seen).toHaveBeenCalledTimes(2);
  });

  it("are done at once when the page goes away, and never twice", async () => {
    const remove = vi.fn(async () => undefined);
    const deletions = new Deletions(remove);
    deletions.add("a");
    deletions.add("b");
    deletions.flush();
    deletions.undo("a");
    await vi.advanceTimersByTimeAsync(UNDO_MS * 2);
    expect(remove.mock.calls).toEqual([["a"], ["b"]]);
  });

  it("bring the file back to sight where they fail", async () => {
    const deletions = new Deletions(() => Promise.reject(new Error("refused")));
    deletions.add("a");
    await expect(vi.advanceTimersByTimeAsync(UNDO_MS)).resolves.toBeDefined();
    expect(deletions.ids().size).toBe(0);
  });
});
