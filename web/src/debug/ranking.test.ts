import { describe, expect, it } from "vitest";
import type { Stage } from "../api/client";
import { contextOf, rowsOf } from "./ranking";

const stage = (name: string, ids: string[], dropped: Record<string, string> = {}): Stage => ({
  name,
  candidates_in: 0,
  candidates_out: ids.length,
  ms: 0,
  tokens: 0,
  note: "",
  text: "",
  ranking: ids.map((chunk_id, index) => ({ chunk_id, score: 1 / (index + 1) })),
  dropped: Object.entries(dropped).map(([chunk_id, reason]) => ({ chunk_id, reason })),
});

describe("rankings beside each other", () => {
  const rows = rowsOf([stage("bm25", ["a", "b"]), stage("l2", ["c", "a"]), stage("fuse", ["a", "c"], { b: "too weak" }), stage("rerank", ["c", "a"])]);

  it("have a row for every chunk, in the order of the last stage", () => {
    expect(rows.map((row) => row.chunkId)).toEqual(["c", "a", "b"]);
  });

  it("give the rank and score of every stage, and nothing where it saw nothing", () => {
    expect(rows[1]?.cells.map((cell) => cell?.rank)).toEqual([1, 2, 1, 2]);
    expect(rows[0]?.cells[0]).toBeNull();
    expect(rows[0]?.cells[1]?.score).toBe(1);
  });

  it("tell how many places a chunk moved since the stage before, but not since a single route", () => {
    expect(rows[0]?.cells.map((cell) => cell?.change ?? null)).toEqual([null, null, null, 1]);
    expect(rows[1]?.cells[3]?.change).toBe(-1);
  });

  it("begin anew with every look-up of a round", () => {
    const twice = rowsOf([stage("bm25", ["a"]), stage("fuse", ["a", "b"]), stage("bm25", ["b"]), stage("fuse", ["b", "a"]), stage("merge", ["a", "b"])]);
    expect(twice.map((row) => row.cells.map((cell) => cell?.change ?? null))).toEqual([
      [null, null, null, null, 1],
      [null, null, null, null, -1],
    ]);
  });

  it("say why a chunk was dropped", () => {
    expect(rows[2]?.cells[2]).toMatchObject({ rank: null, reason: "too weak" });
  });
});

it("the context is what reached the answer", () => {
  expect(contextOf([stage("order", ["a", "b"]), stage("context", ["b"])])).toEqual(["b"]);
  expect(contextOf(undefined)).toEqual([]);
});
