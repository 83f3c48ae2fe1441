import { describe, expect, it } from "vitest";
import { piecesOf } from "./highlight";

describe("piecesOf", () => {
  it("marks the chunk and the quote in it, counted in code points", () => {
    const text = "𝒜 before. 营业收入为\n12亿元。后文";
    const start = Array.from("𝒜 before. ").length;
    const pieces = piecesOf(text, { start, end: start + Array.from("营业收入为\n12亿元。").length }, "收入为 12亿元。");

    expect(pieces).toEqual([
      { text: "𝒜 before. ", mark: "none" },
      { text: "营业", mark: "passage" },
      { text: "收入为\n12亿元。", mark: "quote" },
      { text: "后文", mark: "none" },
    ]);
    expect(pieces.map((piece) => piece.text).join("")).toBe(text);
  });

  it("marks the chunk alone where the quote is not in it", () => {
    expect(piecesOf("abc", { start: 1, end: 2 }, "zzz").map((piece) => piece.mark)).toEqual(["none", "passage", "none"]);
    expect(piecesOf("abc", { start: 0, end: 3 }, "")).toEqual([{ text: "abc", mark: "passage" }]);
  });

  it("marks nothing without a place", () => {
    expect(piecesOf("abc", null, "b")).toEqual([{ text: "abc", mark: "none" }]);
  });
});
