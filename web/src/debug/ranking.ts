/** The rankings of several stages beside each other: one row a chunk, one column a stage. */
import type { Stage } from "../api/client";

export interface Cell {
  /** From 1; null where the stage dropped the chunk or did not see it. */
  rank: number | null;
  score: number | null;
  /** Places gained (above 0) or lost since the last stage that ranked the chunk; null where none did. */
  change: number | null;
  /** Why the stage dropped it; empty where it did not. */
  reason: string;
}

export interface Row {
  chunkId: string;
  cells: readonly (Cell | null)[];
}

/** Stages that look up by themselves; what follows them reorders what they found. */
const ROUTES = new Set(["bm25", "l1", "l2", "l3", "summary", "question", "graph", "hyde_l2", "hyde_bm25"]);

/** Rows in the order of the last stage that ranked anything, then of the stages before it. */
export function rowsOf(stages: readonly Stage[]): Row[] {
  const columns = stages.map(columnOf);
  const ids = new Set<string>();
  for (const column of columns.toReversed()) for (const id of column.keys()) if (column.get(id)?.rank !== null) ids.add(id);
  for (const column of columns) for (const id of column.keys()) ids.add(id);
  return [...ids].map((chunkId) => ({
    chunkId,
    cells: columns.map((column, index) => {
      const cell = column.get(chunkId);
      if (cell === undefined) return null;
      // What is fused from single routes has not moved: it begins an order.
      const first = index === 0 || isRoute(stages[index]) || isRoute(stages[index - 1]);
      const earlier = first ? null : lastRank(columns.slice(0, index), stages, chunkId);
      return { ...cell, change: cell.rank !== null && earlier !== null ? earlier - cell.rank : null };
    }),
  }));
}

export function isRoute(stage: Stage | undefined): boolean {
  return stage !== undefined && ROUTES.has(stage.name);
}

function columnOf(stage: Stage): Map<string, Cell> {
  const column = new Map<string, Cell>();
  (stage.ranking ?? []).forEach((entry, index) => {
    const number = entry["number"];
    column.set(String(entry["chunk_id"]), {
      rank: typeof number === "number" ? number : index + 1,
      score: typeof entry["score"] === "number" ? entry["score"] : null,
      change: null,
      reason: "",
    });
  });
  for (const entry of stage.dropped ?? []) {
    const id = String(entry["chunk_id"]);
    if (!column.has(id)) column.set(id, { rank: null, score: null, change: null, reason: String(entry["reason"] ?? "") });
  }
  return column;
}

function lastRank(columns: readonly Map<string, Cell>[], stages: readonly Stage[], chunkId: string): number | null {
  for (let index = columns.length - 1; index >= 0; index -= 1) {
    const rank = columns[index]?.get(chunkId)?.rank;
    if (rank != null && !isRoute(stages[index])) return rank;
  }
  return null;
}

/** Ids of the passages that reached the answer, in their order there. */
export function contextOf(stages: readonly Stage[] | undefined): string[] {
  const context = stages?.find((stage) => stage.name === "context");
  return (context?.ranking ?? []).map((entry) => String(entry["chunk_id"]));
}
