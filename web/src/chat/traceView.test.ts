import i18next from "i18next";
import { beforeAll, describe, expect, it } from "vitest";
import type { Citation, Trace } from "../api/client";
import { en } from "../i18n/en";
import { zh } from "../i18n/zh";
import { confidenceOf, summaryOf, viewOfTrace } from "./traceView";

const DECISION = { question: "q", mode: "multi", source: "rules", rule_score: 0.82, features: {} } as const;
const CITATIONS = [
  { number: 2, chunk_id: "b", file_id: "f1", file_name: "report.pdf", section_titles: ["Board", "Chair"] },
] as unknown as Citation[];
const TRACE = {
  question: "q",
  rewritten: "q",
  complexity: DECISION,
  rounds: [1, 2, 3].map((round) => ({ round, sub_question: "s", query: "s" })),
  chunks: 14,
  ms: { total: 412 },
} as unknown as Trace;

beforeAll(() =>
  i18next.init({
    lng: "en",
    ns: ["texts"],
    defaultNS: "texts",
    resources: { en: { texts: en }, zh: { texts: zh } },
    interpolation: { escapeValue: false },
  }),
);

const round = (number: number, ...ids: string[]) => ({
  round: number,
  sub_question: "s",
  query: "s",
  stages: [{ name: "merge", ranking: ids.map((chunk_id) => ({ chunk_id })) }],
});

describe("the thread", () => {
  const context = { name: "context", ranking: [{ chunk_id: "b", number: 2 }, { chunk_id: "a", number: 1 }] };

  it("says which round first brought each passage of the answer", () => {
    const trace = { ...TRACE, rounds: [round(1, "a"), round(2, "b", "a")], stages: [context] } as unknown as Trace;
    expect(viewOfTrace(trace, CITATIONS).thread).toEqual({
      rounds: [1, 2],
      passages: [
        { number: 2, round: 2, label: "report.pdf · Chair" },
        { number: 1, round: 1, label: "" },
      ],
    });
  });

  it("is none where nothing reached the answer", () => {
    expect(viewOfTrace({ ...TRACE, stages: [] } as unknown as Trace, CITATIONS).thread).toBeNull();
  });
});

describe("the summary of a trace", () => {
  it("fits on one line", () => {
    expect(summaryOf(viewOfTrace(TRACE, CITATIONS), i18next.getFixedT("en"))).toBe(
      "multi · rules 0.82 · 3 rounds · 14 passages · 0.4 s",
    );
    expect(summaryOf(viewOfTrace(TRACE, CITATIONS), i18next.getFixedT("zh"))).toBe("多跳 · 规则 0.82 · 3 轮 · 14 段 · 0.4 秒");
  });

  it("names the files of hits that carry only an id", () => {
    const trace = { ...TRACE, rounds: [{ round: 1, sub_question: "s", query: "s", hits: [{ chunk_id: "c", file_id: "f1" }] }] };
    expect(viewOfTrace(trace as unknown as Trace, CITATIONS).rounds[0]?.hits[0]?.file).toBe("report.pdf");
  });

  it("says when nothing was looked up", () => {
    const trace = { ...TRACE, complexity: null, rounds: [] };
    expect(summaryOf(viewOfTrace(trace, CITATIONS), i18next.getFixedT("en"))).toBe("nothing was looked up");
  });

  it("names a source it does not know as the server does", () => {
    const trace = { ...TRACE, complexity: { ...DECISION, source: "oracle" } };
    expect(summaryOf(viewOfTrace(trace as Trace, CITATIONS), i18next.getFixedT("en"))).toContain("oracle 0.82");
  });
});

describe("confidence", () => {
  it("counts down from one for a single hop and prefers the classifier that decided", () => {
    expect(confidenceOf({ ...DECISION, mode: "single", rule_score: 0.1 } as never)).toBeCloseTo(0.9);
    expect(confidenceOf({ ...DECISION, source: "head", classifier_probability: 0.7 } as never)).toBeCloseTo(0.7);
    expect(confidenceOf({ ...DECISION, source: "request" } as never)).toBe(1);
  });
});

const keys = (value: object, path = ""): string[] =>
  Object.entries(value).flatMap(([key, item]) =>
    typeof item === "object" ? keys(item as object, `${path}${key}.`) : [`${path}${key}`],
  );
const value = (texts: object, key: string) =>
  key.split(".").reduce<unknown>((found, part) => (found as Record<string, unknown>)[part], texts) as string;
const placeholders = (text: string) => [...text.matchAll(/\{\{\w+\}\}/g)].map(String).toSorted();

describe("the texts", () => {
  it("exist in both languages, none empty, with the same placeholders", () => {
    expect(keys(zh).toSorted()).toEqual(keys(en).toSorted());
    for (const key of keys(en)) {
      expect(value(zh, key), key).not.toBe("");
      expect(placeholders(value(zh, key)), key).toEqual(placeholders(value(en, key)));
    }
  });
});
