/** What recorded numbers would have meant under other thresholds; the same rules as the server's `replay` and
 * `replay_kind`, so that moving a threshold shows its effect at once and asks nobody. */
import type { Decision, KindDecision } from "../api/client";

export type Thresholds = Readonly<Record<string, number>>;

type Known = Pick<
  Decision,
  "mode" | "source" | "rule_score" | "features" | "classifier_probability" | "llm_verdict" | "first_look_probability"
>;

const FIRST_ROUND: ReadonlySet<string> = new Set(["weak_first_round", "strong_first_round"]);

export function replayMode(decision: Known, thresholds: Thresholds): "single" | "multi" {
  if (decision.source === "request") return decision.mode;
  const limit = (name: string) => thresholds[name] ?? Number.NaN;
  const score = decision.rule_score;
  const probability = decision.classifier_probability ?? null;
  if (score >= limit("rules_multi_threshold")) return "multi";
  if (score <= limit("rules_single_threshold") && entityCount(decision) <= 1) return "single";
  if (probability !== null && probability >= limit("classifier_multi_threshold")) return "multi";
  if (probability !== null && probability <= limit("classifier_single_threshold")) return "single";
  if (decision.llm_verdict) return "multi";
  // By what the first look-up showed, which no threshold of the question's own changes.
  if (decision.first_look_probability != null || FIRST_ROUND.has(decision.source)) return decision.mode;
  if (decision.llm_verdict != null) return "single";
  const likely =
    score >= limit("fallback_rules_threshold") ||
    (probability !== null && probability >= limit("fallback_classifier_threshold"));
  return likely ? "multi" : "single";
}

export function replayKind(decision: KindDecision, thresholds: Thresholds): "fact" | "summary" {
  if (decision.source === "request") return decision.kind;
  const limit = (name: string) => thresholds[name] ?? Number.NaN;
  if (decision.score >= limit("summary_threshold")) return "summary";
  if (decision.score <= limit("fact_threshold")) return "fact";
  // Titles decide for a fact where the question is one bare term, which only the server knows.
  const byTitles = decision.source === "r2" ? decision.kind : "summary";
  if ((decision.title_similarity ?? -1) >= limit("title_threshold")) return byTitles;
  if ((decision.title_vector_similarity ?? -1) >= limit("title_vector_threshold")) return byTitles;
  if (decision.llm_verdict != null) return decision.llm_verdict ? "summary" : "fact";
  return decision.score >= limit("fallback_threshold") ? "summary" : "fact";
}

export function entityCount(decision: Pick<Decision, "features">): number {
  const count = decision.features?.["entity_count"];
  return typeof count === "number" ? count : 0;
}

/** The decisions that other thresholds would turn over. */
export function turnedOver(decisions: readonly Decision[], thresholds: Thresholds): Decision[] {
  return decisions.filter((decision) => replayMode(decision, thresholds) !== decision.mode);
}
