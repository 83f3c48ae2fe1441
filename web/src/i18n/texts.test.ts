import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { helpZh } from "../settings/help.zh";
import { en } from "./en";
import { zh } from "./zh";

const SOURCE = join(dirname(fileURLToPath(import.meta.url)), "..");

type Tree = { readonly [key: string]: string | Tree };

function leaves(tree: Tree, prefix = ""): Map<string, string> {
  return new Map(
    Object.entries(tree).flatMap(([key, value]) =>
      typeof value === "string" ? [[`${prefix}${key}`, value] as const] : [...leaves(value, `${prefix}${key}.`)],
    ),
  );
}

const [english, chinese] = [leaves(en), leaves(zh)];
const placeholders = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]).toSorted();

describe("the two languages", () => {
  it("have the same texts, none of them empty", () => {
    expect([...chinese.keys()].toSorted()).toEqual([...english.keys()].toSorted());
    expect([...english, ...chinese].filter(([, text]) => text.trim() === "")).toEqual([]);
  });

  it("fill in the same values", () => {
    const differing = [...english].filter(([key, text]) => {
      const other = chinese.get(key) ?? "";
      // Chinese has one form for all numbers; the English singular may leave the number out.
      return key.endsWith("_one") ? false : placeholders(text).join() !== placeholders(other).join();
    });
    expect(differing.map(([key]) => key)).toEqual([]);
  });

  it("are not the same text in both, but for names", () => {
    const same = [...english].filter(([key, text]) => chinese.get(key) === text && /[a-z]{3,}/i.test(text));
    expect(same.map(([key]) => key)).toEqual([]);
  });

  it("are all used", () => {
    const code = sources().map((path) => readFileSync(path, "utf8")).join("\n");
    // Keys that are put together at run time: `trace.sources.${source}`.
    const made = [...code.matchAll(/t\(\s*`([\w.]+)\.?\$\{/g)].map((match) => match[1] ?? "");
    const ternary = new Set([...code.matchAll(/"([a-z]\w*(?:\.\w+)+)"/gi)].map((match) => match[1] ?? ""));
    const unused = [...english.keys()].filter((key) => {
      const base = key.replace(/_(one|other)$/, "");
      return !ternary.has(base) && !made.some((prefix) => base.startsWith(prefix));
    });
    expect(unused).toEqual([]);
  });
});

describe("the components", () => {
  it("show no text of their own", () => {
    expect(sources().filter((path) => path.endsWith(".tsx")).flatMap(literals)).toEqual([]);
  });
});

describe("the help of settings", () => {
  it("is there in Chinese for every setting that the page shows", () => {
    const documented = readFileSync(join(SOURCE, "../../docs/settings.md"), "utf8");
    const shown = documented.split(/^## /m).filter((part) => /^\w+ \*|^models/.test(part));
    const paths = shown.flatMap((part) => [...part.matchAll(/^\| `([\w.]+)`/gm)].map((match) => match[1] ?? ""));
    expect(paths.length).toBeGreaterThan(60);
    expect(paths.filter((path) => !helpZh[path])).toEqual([]);
    expect(Object.keys(helpZh).filter((path) => !paths.includes(path))).toEqual([]);
  });
});

function sources(folder = SOURCE): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return /\.tsx?$/.test(entry.name) && !/\.test\.ts$|schema\.d\.ts$|\/i18n\//.test(path) ? [path] : [];
  });
}

const SHOWN_ATTRIBUTES = new Set(["aria-label", "title", "placeholder", "alt", "label", "okText", "cancelText"]);
// What is the same in every language: the product's name, units, marks, a command.
const NAMES = /^(Clew|ms|k|%|s|clew eval .*|:?\s*)$/;

/** Texts in the markup of a component, and in attributes that people read. */
function literals(path: string): string[] {
  const file = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found: string[] = [];
  const check = (text: string) => {
    const words = text.trim();
    if (/\p{L}/u.test(words) && !NAMES.test(words)) found.push(`${path.slice(SOURCE.length + 1)}: ${words}`);
  };
  const visit = (node: ts.Node) => {
    if (ts.isJsxText(node)) check(node.text);
    if (ts.isJsxAttribute(node) && node.initializer && ts.isStringLiteral(node.initializer)) {
      if (SHOWN_ATTRIBUTES.has(node.name.getText(file))) check(node.initializer.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}
