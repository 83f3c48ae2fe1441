/** Where a citation stands in a passage's text. The server counts code points, JavaScript UTF-16 units. */

export interface Piece {
  text: string;
  /** `passage`: inside the cited chunk; `quote`: the very sentence. */
  mark: "none" | "passage" | "quote";
}

export interface Span {
  start: number;
  end: number;
}

/** The text cut where marks begin and end; `span` in code points. Pieces joined give the text again. */
export function piecesOf(text: string, span: Span | null, quote: string): Piece[] {
  if (span === null) return [{ text, mark: "none" }];
  const points = Array.from(text);
  const before = points.slice(0, span.start).join("");
  const inside = points.slice(span.start, span.end).join("");
  const after = points.slice(span.end).join("");
  const found = locate(inside, quote);
  const pieces: Piece[] = found
    ? [
        { text: inside.slice(0, found.start), mark: "passage" },
        { text: inside.slice(found.start, found.end), mark: "quote" },
        { text: inside.slice(found.end), mark: "passage" },
      ]
    : [{ text: inside, mark: "passage" }];
  return [{ text: before, mark: "none" } as Piece, ...pieces, { text: after, mark: "none" } as Piece].filter(
    (piece) => piece.text !== "",
  );
}

const IGNORED = /[\s|\u00ad]+/g;

/**
 * Where `quote` stands in `text`, in UTF-16 units. White space does not count, nor do the bars between the cells of a
 * table row, which the server writes and no page shows.
 */
export function locate(text: string, quote: string): Span | null {
  const wanted = quote.replace(IGNORED, "");
  if (wanted === "") return null;
  const places: number[] = [];
  let dense = "";
  for (let at = 0; at < text.length; at += 1) {
    const unit = text[at] ?? "";
    if (unit.replace(IGNORED, "") === "") continue;
    dense += unit;
    places.push(at);
  }
  const at = dense.indexOf(wanted);
  if (at < 0) return null;
  return { start: places[at] ?? 0, end: (places[at + wanted.length - 1] ?? 0) + 1 };
}
