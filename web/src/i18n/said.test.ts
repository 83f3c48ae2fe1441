import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { said } from "./said";

const server = (path: string) => readFileSync(new URL(`../../../src/clew/retrieval/${path}`, import.meta.url), "utf8");

describe("what the server says", () => {
  it("is said in Chinese, with its numbers", () => {
    expect(said("rule score 0.43, probability 0.44: more than one question; a property of something", "zh")).toBe(
      "规则得分 0.43, 概率 0.44：不止一个问题；某对象的属性",
    );
    expect(said("qwen says no: no sign of several hops", "zh")).toBe("qwen 判断为否：没有多跳迹象");
    expect(said("anything", "en")).toBe("anything");
  });

  it("is known for every signal of both decisions", () => {
    const complexity = [...server("complexity/features.py").matchAll(/": Signal\("\w+", [\d.]+, "(.+)"\)/g)];
    const kind = [...server("kind_signals.toml").matchAll(/^says = "(.+)"$/gm)];
    expect(Math.min(complexity.length, kind.length)).toBeGreaterThan(30);
    const unknown = [...complexity, ...kind].map((match) => match[1] ?? "").filter((text) => /[a-z]{2}/.test(said(text, "zh")));
    expect(unknown).toEqual([]);
  });
});
