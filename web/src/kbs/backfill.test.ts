import { describe, expect, it } from "vitest";
import { shareOf, watched } from "./backfill";

type Status = "off" | "pending" | "running" | "completed" | "failed";
const file = (file_id: string, summary_status: Status, summary_done = 0, summary_total = 0) => ({
  file_id,
  name: `${file_id}.md`,
  summary_status,
  summary_done,
  summary_total,
  summary_reason: "",
});

describe("the progress of summaries", () => {
  it("counts each file alike, whether its work is known yet or not", () => {
    const files = [file("a", "running", 3, 4), file("b", "pending"), file("c", "completed", 9, 9)];
    const seen = watched(new Set(["c"]), files);
    expect([...seen].toSorted()).toEqual(["a", "b", "c"]);
    expect(shareOf(files, seen)).toMatchObject({ done: 1, total: 3 });
    expect(shareOf(files, seen).share).toBeCloseTo(1.75 / 3);
  });

  it("leaves out files that were done before, and never goes back while files end", () => {
    const before = [file("a", "running", 1, 4), file("b", "pending"), file("old", "completed", 5, 5)];
    const seen = watched(new Set(), before);
    expect(shareOf(before, seen)).toMatchObject({ done: 0, total: 2 });
    const after = [file("a", "completed", 4, 4), file("b", "running", 1, 2), file("old", "completed", 5, 5)];
    expect(shareOf(after, watched(seen, after)).share).toBeGreaterThan(shareOf(before, seen).share);
  });

  it("is over when nothing is being made, and then begins anew", () => {
    const files = [file("a", "completed", 4, 4), file("b", "failed")];
    expect([...watched(new Set(["a", "b"]), files)]).toEqual([]);
    expect(shareOf(files, new Set(["a"]))).toMatchObject({ share: 1, total: 0, failed: [{ file_id: "b" }] });
  });
});
