/** Where a quoted sentence stands on a drawn page: found in the text layer, measured by the browser. */
import { locate } from "./highlight";

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Boxes in pixels from the top left of `layer`, one a line or piece of a line; none where the quote is not found. */
export function quoteBoxes(layer: HTMLElement, quote: string): Box[] {
  const nodes: { node: Text; start: number }[] = [];
  let text = "";
  const walker = document.createTreeWalker(layer, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    nodes.push({ node, start: text.length });
    text += node.data;
  }
  const found = locate(text, quote);
  if (found === null) return [];
  const origin = layer.getBoundingClientRect();
  return nodes.flatMap(({ node, start }) => {
    const from = Math.max(found.start - start, 0);
    const to = Math.min(found.end - start, node.length);
    if (from >= to || node.data.slice(from, to).trim() === "") return [];
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, to);
    const rect = range.getBoundingClientRect();
    return [{ left: rect.left - origin.left, top: rect.top - origin.top, width: rect.width, height: rect.height }];
  });
}
