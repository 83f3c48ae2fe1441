import katex from "katex";
import "katex/dist/katex.min.css";
import { useMemo } from "react";

/** A formula as it is printed; one that cannot be read stays as it was written. Loaded with the first formula. */
export default function Formula({ tex, display }: { tex: string; display: boolean }) {
  const html = useMemo(() => {
    try {
      return katex.renderToString(tex, { displayMode: display, throwOnError: true, trust: false, maxExpand: 200, strict: false });
    } catch {
      return null;
    }
  }, [tex, display]);
  if (html === null) return <code>{tex}</code>;
  // oxlint-disable-next-line react/no-danger -- KaTeX escapes what it is given and, without `trust`, makes no links
  return <span dangerouslySetInnerHTML={{ __html: html }} />;
}
