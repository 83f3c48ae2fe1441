/** The API, typed by its OpenAPI document; every failure becomes an ApiError that a person can read. */
import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema";

type Schemas = components["schemas"];
export type Attachment = Schemas["Attachment"];
export type KnowledgeBase = Schemas["KnowledgeBase"];
export type ClewFile = Schemas["File"];
export type Block = Schemas["Block"];
export type Passage = Schemas["Passage"];
export type Section = Schemas["Section"];
export type Citation = Schemas["Citation"];
export type Conversation = Schemas["Conversation"];
export type Message = Schemas["Message"];
export type Trace = Schemas["RetrievalTrace"];
export type Decision = Schemas["ComplexityDecision"];
export type KindDecision = Schemas["KindDecision"];
export type SectionReading = Schemas["SectionReading"];
export type Step = Schemas["MultiHopStep"];
export type Stage = Schemas["StageTrace"];
export type SearchRequest = Schemas["SearchRequest"];
export type SearchResponse = Schemas["SearchResponse"];
export type FoundChunk = Schemas["FoundChunk"];
export type QuestionKind = Schemas["SearchRequest"]["kind"];
export type EvaluationRun = Schemas["EvaluationRun"];
export type SettingsView = Schemas["SettingsView"];
export type ChatRequest = Schemas["ChatRequest"];
export type RetrievalMode = Schemas["ChatRequest"]["retrieval_mode"];

export function isSummarising({ summary_status }: Pick<ClewFile, "summary_status">): boolean {
  return summary_status === "pending" || summary_status === "running";
}

/** `kind` is the problem's URN, or `unreachable` where no server answered. */
export class ApiError extends Error {
  readonly kind: string;
  readonly title: string;
  readonly status: number;

  constructor(kind: string, title: string, detail: string, status: number) {
    super(detail);
    this.name = "ApiError";
    this.kind = kind;
    this.title = title;
    this.status = status;
  }
}

export async function errorOf(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => null);
  const problem = (typeof body === "object" && body !== null ? body : {}) as Partial<Schemas["Problem"]>;
  return new ApiError(
    problem.type ?? "urn:clew:internal",
    problem.title ?? `${response.status}`,
    problem.detail ?? response.statusText,
    response.status,
  );
}

/** Told to the window when the server cannot be reached. */
export const AWAY = "clew:away";

export function unreachable(): ApiError {
  return new ApiError("unreachable", "", "", 0);
}

const failures: Middleware = {
  async onResponse({ response }) {
    if (!response.ok) throw await errorOf(response);
  },
  onError({ error }) {
    if (error instanceof ApiError || (error instanceof DOMException && error.name === "AbortError")) return;
    globalThis.dispatchEvent?.(new Event(AWAY));
    return unreachable();
  },
};

export const api = createClient<paths>({ baseUrl: "/" });
api.use(failures);

/** The data of a call whose failures throw. */
export async function dataOf<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}
