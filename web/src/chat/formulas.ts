/** Formulas in an answer's text: `$…$`, `\(…\)`, and on lines of their own `$$…$$`, `\[…\]`. */

/** A dollar sign begins a formula only where what follows reads like one: sums of money are no formulas. */
const INLINE = /^(?:\\\((?<round>.+?)\\\)|\$\$(?<double>[^$\n]+?)\$\$|\$(?<single>(?![\s$])(?:\\\$|[^$\n])+?(?<!\s))\$(?!\d))/s;
const BLOCK = /^ {0,3}(?:\$\$(?<dollars>.+?)\$\$|\\\[(?<square>.+?)\\\]) *(?:\n|$)/s;
const MATHS = /[\\^_=+<>{}]|^[a-z]['′]?$/i;

function token(raw: string, tex: string, display: boolean) {
  return { type: display ? "formulaBlock" : "formula", raw, tex: tex.trim() };
}

function element(tex: unknown, display: boolean): string {
  return `<tex-formula data-tex="${encodeURIComponent(String(tex))}" data-display="${display}"></tex-formula>`;
}

export const FORMULAS = [
  {
    name: "formulaBlock",
    level: "block" as const,
    start: (source: string) => {
      const at = source.search(/^ {0,3}(?:\$\$|\\\[)/m);
      return at < 0 ? undefined : at;
    },
    tokenizer(source: string) {
      const found = BLOCK.exec(source);
      const tex = found?.groups?.["dollars"] ?? found?.groups?.["square"];
      return found && tex !== undefined ? token(found[0], tex, true) : undefined;
    },
    renderer: (one: { [key: string]: unknown }) => element(one["tex"], true),
  },
  {
    name: "formula",
    level: "inline" as const,
    start: (source: string) => {
      const at = source.search(/\$|\\\(/);
      return at < 0 ? undefined : at;
    },
    tokenizer(source: string) {
      const found = INLINE.exec(source);
      const { round, double, single } = found?.groups ?? {};
      const tex = round ?? double ?? (single !== undefined && MATHS.test(single) ? single : undefined);
      return found && tex !== undefined ? token(found[0], tex, false) : undefined;
    },
    renderer: (one: { [key: string]: unknown }) => element(one["tex"], false),
  },
];
