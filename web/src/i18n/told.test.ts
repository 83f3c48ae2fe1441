import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { SIGNALS } from "../debug/signals";
import { problemTitles, serverTexts } from "./server.zh";
import { tellInEnglish, teller } from "./told";
import { zh } from "./zh";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const told = teller(serverTexts);
const server = JSON.parse(
  execFileSync(process.env["PYTHON"] ?? "python3", ["scripts/server_texts.py"], { cwd: ROOT, encoding: "utf8" }),
) as { texts: { text: string; place: string }[]; signals: Record<string, string> };

/** Whether English is left; commands, and names of formats and settings, are the same in every language. */
function isEnglish(text: string): boolean {
  const words = text.replaceAll(/`[^`]*`/g, "");
  return /[a-z]{2,} [a-z]{2,}/.test(words) || (!/\p{Script=Han}/u.test(words) && /(^| )[a-z]{2,}/.test(words));
}

describe("what the server says", () => {
  it("is said in Chinese, with its values", () => {
    expect(told("rule score 0.43, probability 0.44: more than one question; a property of something")).toBe(
      "规则得分 0.43，概率 0.44：不止一个问题；某对象的属性",
    );
    expect(told("qwen says no: no sign of several hops")).toBe("qwen 判断为否：没有多跳迹象");
    expect(told("rerank: http://models/rerank did not answer within 5 s; try again, or raise models.reranker.timeout.")).toBe(
      "重排：http://models/rerank 未在 5 秒内应答；请重试，或调大 models.reranker.timeout。",
    );
    expect(told("a.zip: ZIP archive files are not read. Unpack it and add the files inside.")).toBe(
      "a.zip：无法读取“ZIP 压缩包”类型的文件。请解压后添加其中的文件。",
    );
    expect(told("asks for the gist (main points, 主要内容); asks to summarise")).toBe("询问要点（主要内容）；要求总结");
    expect(told("the whole document (names nothing but the document); 12 sections match, 9 read")).toBe(
      "整份文档（只提到文档本身）；12 个章节匹配，读取 9 个",
    );
  });

  it("stays as it is where it is not known", () => {
    for (const text of ["", "董事会由股东大会选举", "Bad gateway from upstream: see its log", "chapter 3; figures"]) {
      expect(told(text)).toBe(text.replaceAll("; ", "；"));
    }
  });

  it("is known, every sentence of it", () => {
    const written = server.texts;
    expect(written.length).toBeGreaterThan(200);
    const unknown = written.filter(({ text }) => isEnglish(told(text.replaceAll("{}", "X"))));
    expect(unknown).toEqual([]);
  });

  it("is English on an English page, where it was said in Chinese", () => {
    const chinese = server.texts.map(({ text }) => text).filter((text) => !/[a-z]/i.test(text));
    expect(chinese.length).toBeGreaterThan(2);
    const reasons = "rule score 0.43: more than one question; 资料只涉及问题的一部分";
    expect(tellInEnglish(reasons)).toBe(
      "rule score 0.43: more than one question; the evidence covers only a part of the question",
    );
    expect(chinese.filter((text) => /\p{Script=Han}/u.test(tellInEnglish(text.replaceAll("{}", "X"))))).toEqual([]);
  });

  it("names every step that takes time", () => {
    const folder = new URL("../../../src/clew/retrieval/", import.meta.url);
    const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".py"));
    const code = sources.map((path) => readFileSync(new URL(path, folder), "utf8")).join("\n");
    const steps = [...code.matchAll(/\btimed\("(\w+)"\)/g)].map((match) => match[1] ?? "").filter((name) => name !== "total");
    expect(steps.length).toBeGreaterThan(10);
    expect(steps.filter((name) => !(name in zh.debug.step))).toEqual([]);
  });

  it("names every signal", () => {
    // Records of older versions may have others too.
    expect(SIGNALS).toMatchObject(server.signals);
  });

  it("uses each value that it names", () => {
    const wrong = Object.entries(serverTexts).filter(([template, text]) => {
      const values = template.split("{}").length - 1;
      return [...text.matchAll(/\{(\d)\}/g)].some(([, number]) => Number(number) > values || number === "0") || text.includes("{}");
    });
    expect(wrong).toEqual([]);
  });

  it("is Chinese, titles too", () => {
    const texts = [...Object.values(serverTexts), ...Object.values(problemTitles)];
    expect(texts.filter(isEnglish)).toEqual([]);
  });
});
