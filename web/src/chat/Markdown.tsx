import { XMarkdown, type ComponentProps } from "@ant-design/x-markdown";
import { Tooltip } from "antd";
import { Suspense, createContext, memo, use, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { lazyPart } from "../app/loading";
import type { Citation } from "../api/client";
import { MARKED } from "./citationMarks";
import styles from "./markdown.module.css";

interface Sources {
  citations: readonly Citation[];
  onOpen: (citation: Citation) => void;
}

const Formula = lazyPart(() => import("./Formula"));
const SourcesContext = createContext<Sources>({ citations: [], onOpen: () => undefined });
const COMPONENTS = { "cite-ref": CitationChip, "tex-formula": FormulaOf, table: Table };
const SAFE = { FORBID_TAGS: ["style", "form", "input", "button", "iframe", "svg", "math"], FORBID_ATTR: ["style"] };

/** An answer's Markdown with its `[1]` as chips that open the source. Raw HTML in it is shown as text. */
const Markdown = memo(function Markdown(props: { text: string; streaming: boolean } & Sources) {
  const { text, streaming, citations, onOpen } = props;
  const sources = useMemo(() => ({ citations, onOpen }), [citations, onOpen]);
  return (
    <SourcesContext value={sources}>
      <XMarkdown
        className={styles.markdown}
        content={text}
        components={COMPONENTS}
        config={MARKED}
        dompurifyConfig={SAFE}
        streaming={{ hasNextChunk: streaming }}
        openLinksInNewTab
        escapeRawHtml
        disableDefaultStyles
      />
    </SourcesContext>
  );
});

/**
 * The words that a mark stands for, where the answer quotes: the rest of its block quote, or the last row of the table
 * before it. One source may be quoted several times, and each mark leads to its own place.
 */
function quoteBeside(chip: HTMLElement): string {
  const block = chip.closest("blockquote");
  if (block) {
    const copy = block.cloneNode(true) as HTMLElement;
    for (const other of copy.querySelectorAll("button")) other.remove();
    return copy.textContent.trim();
  }
  const table = chip.closest("p")?.previousElementSibling?.querySelector("table");
  const row = table ? [...table.rows].at(-1) : undefined;
  return row ? [...row.cells].map((cell) => cell.textContent.trim()).join(" | ") : "";
}

/** Wide tables scroll by themselves, by keyboard too. */
function Table({ children }: ComponentProps) {
  const { t } = useTranslation();
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className={styles.table} tabIndex={0} role="region" aria-label={t("chat.table")}>
      <table>{children}</table>
    </div>
  );
}

function FormulaOf(props: ComponentProps) {
  const values = props as Record<string, unknown>;
  const tex = decodeURIComponent(String(values["data-tex"]));
  return (
    <Suspense fallback={<code>{tex}</code>}>
      <Formula tex={tex} display={values["data-display"] === "true"} />
    </Suspense>
  );
}

function CitationChip(props: ComponentProps) {
  const number = Number((props as Record<string, unknown>)["data-number"]);
  const { citations, onOpen } = use(SourcesContext);
  const { t } = useTranslation();
  const citation = citations.find((candidate) => candidate.number === number);
  if (!citation) return null;
  const page = citation.page !== null ? t("chat.page", { page: citation.page }) : "";
  return (
    <Tooltip
      title={
        <>
          {[citation.file_name, page].filter(Boolean).join(" · ")}
          {citation.section_titles.length > 0 && (
            <>
              <br />
              {citation.section_titles.at(-1)}
            </>
          )}
        </>
      }
    >
      <button
        type="button"
        className={styles.chip}
        aria-label={t("chat.citation", { number, file: [citation.file_name, page].filter(Boolean).join(", ") })}
        onClick={(event) => onOpen({ ...citation, quote: quoteBeside(event.currentTarget) || citation.quote })}
      >
        {number}
      </button>
    </Tooltip>
  );
}

export default Markdown;
