import { Marked } from "marked";
import { describe, expect, it } from "vitest";
import { MARKED } from "./citationMarks";

const render = (text: string) => new Marked(MARKED).parse(text) as string;
const formulas = (text: string) =>
  [...render(text).matchAll(/data-tex="([^"]*)" data-display="(\w+)"/g)].map(([, tex, display]) => [decodeURIComponent(tex!), display]);

describe("formulas", () => {
  it("stand in a line or on their own", () => {
    expect(formulas(String.raw`So $E = mc^2$ and \(a_1 < b\) [1].`)).toEqual([["E = mc^2", "false"], ["a_1 < b", "false"]]);
    expect(formulas("Then\n\n$$\n\\frac{a}{b}\n$$\n\nand\n\n\\[x_i\\]\n")).toEqual([[String.raw`\frac{a}{b}`, "true"], ["x_i", "true"]]);
    expect(formulas("收入为$x$，增长率 $r=\\frac{a-b}{b}$。")).toEqual([["x", "false"], [String.raw`r=\frac{a-b}{b}`, "false"]]);
  });

  it("are no sums of money, and nothing in code", () => {
    for (const text of [
      "It cost $5 million, up from $4 million.",
      "From $1,200 (US$) to US$ 1,500, or $3-$4.",
      "`$a_1$` and ```$b^2$```",
      "Only one $ here",
      "$ a = b $",
    ]) {
      expect(formulas(text)).toEqual([]);
    }
  });

  it("leave citations beside them alone", () => {
    expect(render("$a_1$ [2]")).toContain('<cite-ref data-number="2">');
  });
});
