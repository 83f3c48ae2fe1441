/** How far the summaries of several files are. */
import { type ClewFile, isSummarising } from "../api/client";

type Summarised = Pick<ClewFile, "file_id" | "name" | "summary_status" | "summary_done" | "summary_total" | "summary_reason">;

/** The files whose summaries were seen being made: `before` and those of now; none once all are over, so that the next
 * time begins at nought. */
export function watched(before: ReadonlySet<string>, files: readonly Summarised[]): ReadonlySet<string> {
  const now = files.filter(isSummarising).map((file) => file.file_id);
  if (now.length === 0) return before.size === 0 ? before : new Set();
  return now.every((id) => before.has(id)) ? before : new Set([...before, ...now]);
}

/** The share of the work on `seen` that is done, from 0 to 1, each file counting alike; and what failed. */
export function shareOf(files: readonly Summarised[], seen: ReadonlySet<string>) {
  const running = files.filter(isSummarising);
  const of = running.length === 0 ? [] : files.filter((file) => seen.has(file.file_id) || isSummarising(file));
  const parts = of.map((file) => {
    if (!isSummarising(file)) return 1;
    return file.summary_total > 0 ? Math.min(file.summary_done / file.summary_total, 1) : 0;
  });
  return {
    share: of.length === 0 ? 1 : parts.reduce((sum, part) => sum + part, 0) / of.length,
    done: of.length - running.length,
    total: of.length,
    failed: files.filter((file) => file.summary_status === "failed"),
  };
}
