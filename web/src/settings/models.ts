/** Which settings of a model stand in front, which behind "more", and when it counts as set. */
import { type Values, valueAt } from "./schema";

export interface Part {
  name: "chat" | "enrichment" | "vision" | "reranker" | "embedder";
  /** Shown at once, in this order, where `kind` asks for them. */
  first: (kind: string) => readonly string[];
}

export const PARTS: readonly Part[] = [
  { name: "chat", first: () => ["url", "model", "api_key"] },
  { name: "enrichment", first: () => ["url", "model", "api_key"] },
  { name: "vision", first: () => ["url", "model", "api_key"] },
  {
    name: "reranker",
    first: (kind) => ["kind", ...(kind === "http" ? ["url", "model", "api_key", "dialect"] : kind === "onnx" ? ["path"] : [])],
  },
  {
    name: "embedder",
    first: (kind) => ["kind", ...(kind === "openai" ? ["url", "model", "api_key"] : kind === "onnx" ? ["path", "pooling"] : [])],
  },
];

export type Lacking = "chat" | "enrichment" | "vision" | "reranker" | "classifier";

/** All that is not set up, in the order in which it would help most. */
export function lackingOf(values: Values): Lacking[] {
  const models = PARTS.flatMap(({ name }) => missing(name, values) ?? []);
  return valueAt(values, "complexity.classifier_url") ? models : [...models, "classifier"];
}

/** What of an answer is worse without the model: a key of `settings.cost`; null where nothing is missing. */
export function missing(part: Part["name"], values: Values): "chat" | "enrichment" | "vision" | "reranker" | null {
  const at = (path: string) => valueAt(values, `models.${path}`);
  switch (part) {
    case "chat":
      return at("chat.url") ? null : "chat";
    case "enrichment":
      return at("enrichment.url") || at("chat.url") ? null : "enrichment";
    case "vision":
      return at("vision.url") ? null : "vision";
    case "reranker":
      return at("reranker.kind") === "none" ? "reranker" : null;
    case "embedder":
      return null;
  }
}
