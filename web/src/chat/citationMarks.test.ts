import { Marked } from "marked";
import { describe, expect, it } from "vitest";
import { MARKED, citedNumbers } from "./citationMarks";

const render = (text: string) => new Marked(MARKED).parse(text) as string;

describe("citation marks", () => {
  it("become elements wherever they stand in prose, lists and tables", () => {
    expect(render("A [1][2], **b [3]**.")).toContain(
      'A <cite-ref data-number="1"></cite-ref><cite-ref data-number="2"></cite-ref>, <strong>b <cite-ref data-number="3">',
    );
    expect(render("- 收入[12]。")).toContain('收入<cite-ref data-number="12"></cite-ref>。');
    expect(render("|a|\n|-|\n|x [4]|")).toContain('x <cite-ref data-number="4">');
  });

  it("are left alone in code, links and where they are no number", () => {
    for (const text of ["`a[1]`", "```\na[1]\n```", "[1](https://example.org)", "[a]", "[2023]"]) {
      expect(render(text)).not.toContain("cite-ref");
    }
  });

  it("are counted once each, in order", () => {
    expect(citedNumbers("b [2] a [1] [2] `x[3]`\n```\ny[4]\n```\n[5](u)")).toEqual([2, 1]);
  });
});
