import i18next from "i18next";
import { beforeAll, describe, expect, it } from "vitest";
import type { Trace } from "../api/client";
import { en } from "../i18n/en";
import { zh } from "../i18n/zh";
import { confidenceOf, summaryOf, viewOfTrace } from "./traceView";

const DECISION = { question: "q", mode: "multi", source: "rules", rule_score: 0.82, features: {} } as const;
const NAMES = new Map([["f1", "report.pdf"]]);
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

describe("the summary of a trace", () => {
  it("fits on one line", () => {
    expect(summaryOf(viewOfTrace(TRACE, NAMES), i18next.getFixedT("en"))).toBe(
      "multi · rules 0.82 · 3 rounds · 14 passages · 0.4 s",
    );
    expect(summaryOf(viewOfTrace(TRACE, NAMES), i18next.getFixedT("zh"))).toBe("多跳 · 规则 0.82 · 3 轮 · 14 段 · 0.4 秒");
  });

  it("names the files of hits that carry only an id", () => {
    const trace = { ...TRACE, rounds: [{ round: 1, sub_question: "s", query: "s", hits: [{ chunk_id: "c", file_id: "f1" }] }] };
    expect(viewOfTrace(trace as unknown as Trace, NAMES).rounds[0]?.hits[0]?.file).toBe("report.pdf");
  });

  it("says when nothing was looked up", () => {
    const trace = { ...TRACE, complexity: null, rounds: [] };
    expect(summaryOf(viewOfTrace(trace, NAMES), i18next.getFixedT("en"))).toBe("nothing was looked up");
  });

  it("names a source it does not know as the server does", () => {
    const trace = { ...TRACE, complexity: { ...DECISION, source: "oracle" } };
    expect(summaryOf(viewOfTrace(trace as Trace, NAMES), i18next.getFixedT("en"))).toContain("oracle 0.82");
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
