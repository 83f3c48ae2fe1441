/** One shape for the trace panel, whether the trace is still being streamed or was stored with the answer. */
import type { TFunction } from "i18next";
import type { Citation, Decision, SectionReading, Trace } from "../api/client";
import type { LiveAnswer } from "./answer";

export interface RoundView {
  round: number;
  subQuestion: string;
  query: string;
  entities: readonly string[];
  hits: readonly HitView[];
  newChunks: number;
  goesOn: boolean;
  why: string;
  ms: number | null;
}

export interface HitView {
  chunkId: string;
  file: string;
  section: string;
  page: number | null;
  isNew: boolean;
}

/** Which passages reached the answer, and which round brought each of them. */
export interface ThreadView {
  rounds: readonly number[];
  passages: readonly { number: number; round: number; label: string }[];
}

export interface TraceView {
  /** Of a summary question. */
  sections: SectionReading | null;
  /** Null while the answer is being made. */
  thread: ThreadView | null;
  mode: "single" | "multi" | null;
  source: string | null;
  confidence: number | null;
  kind: "fact" | "summary" | null;
  decision: Decision | null;
  rewritten: string | null;
  planner: string;
  rounds: readonly RoundView[];
  passages: number | null;
  stopReason: string | null;
  uncertainReason: string;
  degraded: readonly string[];
  seconds: number | null;
}

/** How sure the deciding step was; the same rule as the server's `ComplexityDecision.confidence`. */
export function confidenceOf(decision: Decision): number {
  if (decision.source === "request" || decision.source === "model") return 1;
  const probability = decision.classifier_probability;
  const value = probability != null && decision.source !== "rules" ? probability : decision.rule_score;
  return decision.mode === "multi" ? value : 1 - value;
}

/** The features that the rules weigh, each from 0 to 1; counts and texts stand beside them in the record. */
export function featuresOf(features: Readonly<Record<string, unknown>>): [string, number][] {
  return Object.entries(features).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number" && !["entity_count", "tokens"].includes(entry[0]),
  );
}

/** Names of files by their id, for hits that carry only the id. */
export type FileNames = ReadonlyMap<string, string>;

export function viewOfTrace(trace: Trace, citations: readonly Citation[]): TraceView {
  const names = namesOf(citations);
  const decision = trace.complexity ?? null;
  const ms = trace.ms ?? {};
  const total = ms["total"] ?? Object.values(ms).reduce((sum, value) => sum + value, 0);
  return {
    sections: trace.sections ?? null,
    thread: threadOf(trace, citations),
    mode: decision?.mode ?? null,
    source: decision?.source ?? null,
    confidence: decision ? confidenceOf(decision) : null,
    kind: trace.kind?.kind ?? null,
    decision,
    rewritten: trace.rewritten !== trace.question ? trace.rewritten : null,
    planner: trace.planner ?? "",
    rounds: (trace.rounds ?? []).map((step) => ({
      round: step.round,
      subQuestion: step.sub_question,
      query: step.query,
      entities: step.entities ?? [],
      hits: (step.hits ?? []).map((hit) => hitOf(hit, names)),
      newChunks: step.new_chunks ?? 0,
      goesOn: step.goes_on ?? false,
      why: step.why ?? "",
      ms: step.ms ?? null,
    })),
    passages: trace.chunks ?? null,
    stopReason: trace.stop_reason ?? null,
    uncertainReason: trace.uncertain ? (trace.uncertain_reason ?? "") : "",
    degraded: trace.degraded ?? [],
    seconds: total > 0 ? total / 1000 : null,
  };
}

export function viewOfLive(live: LiveAnswer): TraceView {
  const names = namesOf(live.citations);
  return {
    sections: null,
    thread: null,
    mode: live.plan?.mode ?? null,
    source: live.plan?.source ?? null,
    confidence: live.plan?.confidence ?? null,
    kind: live.plan?.kind ?? null,
    decision: null,
    rewritten: null,
    planner: "",
    rounds: live.steps.map((step) => ({
      round: step.round,
      subQuestion: step.sub_question,
      query: step.query,
      entities: step.entities ?? [],
      hits: (step.hits ?? []).map((hit) => hitOf(hit, names)),
      newChunks: step.new_chunks,
      goesOn: step.goes_on,
      why: step.why,
      ms: step.ms ?? null,
    })),
    passages: live.retrieved?.chunks ?? null,
    stopReason: live.retrieved?.stop_reason ?? null,
    uncertainReason: "",
    degraded: [],
    seconds: live.retrieved?.ms ? live.retrieved.ms / 1000 : null,
  };
}

/** "multi · rules 0.82 · 3 rounds · 14 passages · 0.4 s" */
export function summaryOf(view: TraceView, t: TFunction): string {
  if (view.mode === null) return t("trace.noRetrieval");
  const parts: string[] = [t(`trace.${view.mode}`)];
  if (view.source !== null) {
    const confidence = view.confidence !== null && view.source !== "request" ? ` ${view.confidence.toFixed(2)}` : "";
    parts.push(`${sourceName(view.source, t)}${confidence}`);
  }
  if (view.rounds.length > 0) parts.push(t("trace.rounds", { count: view.rounds.length }));
  if (view.passages !== null) parts.push(t("trace.passages", { count: view.passages }));
  if (view.seconds !== null) {
    const digits = view.seconds < 0.1 ? 2 : view.seconds < 10 ? 1 : 0;
    parts.push(t("trace.seconds", { seconds: view.seconds.toFixed(digits) }));
  }
  return parts.join(" · ");
}

/** The name in the page's language; a source that a newer server knows is shown as it is. */
export function sourceName(source: string, t: TFunction): string {
  return t(`trace.sources.${source}` as "trace.sources.rules", { defaultValue: source });
}

/** The planner that follows names has one in the page's language; a model keeps its own. */
export function plannerName(planner: string, t: TFunction): string {
  return planner === "bridge" ? t("trace.bridge") : planner;
}

function threadOf(trace: Trace, citations: readonly Citation[]): ThreadView | null {
  const rounds = trace.rounds ?? [];
  const context = trace.stages?.find((stage) => stage.name === "context")?.ranking ?? [];
  if (rounds.length === 0 || context.length === 0) return null;
  const brought = new Map<string, number>();
  for (const { round, stages = [], hits = [] } of rounds.toReversed()) {
    const merged = stages.find((stage) => stage.name === "merge")?.ranking ?? hits;
    for (const entry of merged) brought.set(String(entry["chunk_id"]), round);
  }
  const passages = context.map((entry, index) => {
    const id = String(entry["chunk_id"]);
    const number = typeof entry["number"] === "number" ? entry["number"] : index + 1;
    const citation = citations.find((one) => one.chunk_id === id);
    const label = citation ? [citation.file_name, citation.section_titles.at(-1)].filter(Boolean).join(" · ") : "";
    return { number, round: brought.get(id) ?? rounds[0]?.round ?? 1, label };
  });
  return { rounds: rounds.map((step) => step.round), passages };
}

export function namesOf(citations: readonly Citation[]): FileNames {
  return new Map(citations.map((citation) => [citation.file_id, citation.file_name]));
}

function hitOf(hit: Record<string, unknown>, names: FileNames): HitView {
  const titles = Array.isArray(hit["section_titles"]) ? hit["section_titles"] : [];
  return {
    chunkId: String(hit["chunk_id"] ?? ""),
    file: String(hit["file"] ?? names.get(String(hit["file_id"])) ?? ""),
    section: String(titles.at(-1) ?? ""),
    page: typeof hit["page"] === "number" ? hit["page"] : null,
    isNew: hit["new"] === true,
  };
}
