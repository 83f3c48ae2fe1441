import { FORMULAS } from "./formulas";

/** `[12]` in an answer's text. What stands in code is left alone; `[1](…)` and `[1]: …` are links and stay links. */
const MARK = /\[(\d{1,3})\](?![(:])/;

/** The numbers that an answer cites, in order of first mention; marks inside code do not count. */
export function citedNumbers(text: string): number[] {
  const prose = text.replace(/```[\s\S]*?(```|$)/g, "").replace(/`[^`\n]*`/g, "");
  return [...new Set([...prose.matchAll(new RegExp(MARK, "g"))].map((match) => Number(match[1])))];
}

export const MARKED = {
  breaks: false,
  extensions: [
    ...FORMULAS,
    {
      name: "citation",
      level: "inline" as const,
      start: (source: string) => {
        const at = source.search(MARK);
        return at < 0 ? undefined : at;
      },
      tokenizer(source: string) {
        const match = MARK.exec(source);
        return match?.index === 0 ? { type: "citation", raw: match[0], number: match[1] } : undefined;
      },
      renderer: (token: { [key: string]: unknown }) =>
        `<cite-ref data-number="${String(token["number"])}"></cite-ref>`,
    },
  ],
};
