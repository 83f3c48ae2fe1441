/** What the server says, in the page's language. The server says it in English, in sentences that are known; values in
 * them (names, numbers, what another service said) stay as they are. */
import { useCallback, useEffect, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";

type Texts = Readonly<Record<string, string>>;

interface Form {
  pattern: RegExp;
  /** Its longest words: a text without them is none of this form. */
  words: string;
  text: string;
  /** Characters that are not values: of several sentences that fit, the one that says most is meant. */
  weight: number;
}

/** What stands between several reasons, and between a name and what is said of it. */
interface Marks {
  list: string;
  of: string;
}

/** A function that turns a text of the server into one of `texts`; what it does not know it gives back as it is. */
export function teller(texts: Texts, marks: Marks = { list: "；", of: "：" }): (text: string) => string {
  const forms = Object.entries(texts).map(formOf).toSorted((one, other) => other.weight - one.weight);
  const tell = (text: string): string => {
    for (const { pattern, words, text: form } of forms) {
      const found = text.includes(words) ? pattern.exec(text) : null;
      if (found) return form.replaceAll(/\{(\d)\}/g, (_, number: string) => tell(found[Number(number)] ?? ""));
    }
    // Several reasons in a row; or a name, and what is said of it.
    if (text.includes("; ")) return text.split("; ").map(tell).join(marks.list);
    const at = text.indexOf(": ");
    const rest = text.slice(at + 2);
    const said = at > 0 ? tell(rest) : rest;
    return said === rest ? text : `${tell(text.slice(0, at))}${marks.of}${said}`;
  };
  const known = new Map<string, string>([["", ""]]);
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const result = tell(text);
    known.set(text, result);
    return result;
  };
}

function formOf([template, text]: [string, string]): Form {
  const parts = template.split("{}");
  const escaped = parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return {
    pattern: new RegExp(`^${escaped.join("(.+?)")}$`, "s"),
    words: parts.reduce((longest, part) => (part.length > longest.length ? part : longest)),
    text,
    weight: parts.join("").length,
  };
}

export interface Told {
  /** A reason, a note or an error's detail. */
  told: (text: string) => string;
  /** The title of an error of this kind (`urn:clew:…`), or as it was given. */
  titleOf: (kind: string, title: string) => string;
}

/** The planner that follows names speaks the question's language. */
const PLANNER_IN_ENGLISH: Texts = {
  "资料提到{}，继续检索": "the evidence names {1}",
  "没有找到关于{}的资料": "nothing was found about {1}",
  问题的各部分都有对应资料: "every part of the question has its evidence",
  资料只涉及问题的一部分: "the evidence covers only a part of the question",
};

export const tellInEnglish = teller(PLANNER_IN_ENGLISH, { list: "; ", of: ": " });
const english: Told = { told: tellInEnglish, titleOf: (_, title) => title };
let chinese: Told | null = null;
let loading: Promise<void> | null = null;
const listeners = new Set<() => void>();

/** Loaded with the first thing that is said on a Chinese page: no page needs it to begin. */
function load() {
  loading ??= import("./server.zh").then(({ serverTexts, problemTitles }) => {
    chinese = { told: teller(serverTexts), titleOf: (kind, title) => problemTitles[kind.split(":").at(-1) ?? ""] ?? title };
    for (const listener of listeners) listener();
  });
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTold(): Told {
  const { i18n } = useTranslation();
  const wanted = i18n.language === "zh";
  const known = useSyncExternalStore(subscribe, useCallback(() => chinese, []));
  useEffect(() => {
    if (wanted) load();
  }, [wanted]);
  return wanted && known ? known : english;
}
