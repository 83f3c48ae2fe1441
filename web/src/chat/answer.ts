/** The state of an answer while it is being made: what the events of its stream add up to. */
import type { components } from "../api/schema";
import type { Citation } from "../api/client";
import type { ServerEvent } from "../api/events";

type Schemas = components["schemas"];
export type Plan = Schemas["RetrievalPlanEvent"];
export type LiveStep = Schemas["RetrievalStepEvent"];
export type Retrieved = Schemas["RetrievalDoneEvent"];

export type Phase = "starting" | "retrieving" | "writing" | "done" | "stopped" | "failed";

export interface LiveAnswer {
  /** The question as typed, shown until the server has stored it; null for an answer that was found running. */
  question: string | null;
  messageId: string | null;
  conversationId: string | null;
  phase: Phase;
  plan: Plan | null;
  steps: readonly LiveStep[];
  retrieved: Retrieved | null;
  citations: readonly Citation[];
  text: string;
  notice: string | null;
  error: { title: string; detail: string } | null;
  reconnecting: boolean;
}

export function newAnswer(question: string | null, conversationId: string | null, messageId: string | null): LiveAnswer {
  return {
    question,
    messageId,
    conversationId,
    phase: "starting",
    plan: null,
    steps: [],
    retrieved: null,
    citations: [],
    text: "",
    notice: null,
    error: null,
    reconnecting: false,
  };
}

export function isOver(answer: LiveAnswer): boolean {
  return answer.phase === "done" || answer.phase === "stopped" || answer.phase === "failed";
}

export function isLastEvent(event: ServerEvent): boolean {
  return event.event === "done" || event.event === "error" || event.event === "stopped";
}

/** The answer after one more event. Events of unknown names, and such whose data is no JSON, change nothing. */
export function withEvent(answer: LiveAnswer, event: ServerEvent): LiveAnswer {
  let data: unknown;
  try {
    data = JSON.parse(event.data);
  } catch {
    return answer;
  }
  switch (event.event) {
    case "retrieval_plan": {
      const plan = data as Plan;
      return {
        ...answer,
        plan,
        phase: "retrieving",
        conversationId: plan.conversation_id,
        messageId: plan.message_id,
      };
    }
    case "retrieval_step":
      return { ...answer, steps: [...answer.steps, data as LiveStep] };
    case "retrieval_done":
      return { ...answer, retrieved: data as Retrieved, phase: "writing" };
    case "sources":
      return { ...answer, citations: (data as Schemas["SourcesEvent"]).sources, phase: "writing" };
    case "delta":
      return { ...answer, text: answer.text + (data as Schemas["DeltaEvent"]).text, phase: "writing" };
    case "notice":
      return { ...answer, notice: (data as Schemas["NoticeEvent"]).text };
    case "done":
      return { ...answer, phase: "done" };
    case "stopped":
      return { ...answer, phase: "stopped" };
    case "error":
      return { ...answer, phase: "failed", error: data as Schemas["ErrorEvent"] };
    default:
      return answer;
  }
}
