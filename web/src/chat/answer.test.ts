import { describe, expect, it } from "vitest";
import { isOver, newAnswer, withEvent } from "./answer";

const send = (event: string, data: unknown) => ({ id: null, event, data: JSON.stringify(data) });
const PLAN = { mode: "multi", source: "rules", confidence: 0.8, kind: "fact", conversation_id: "c", message_id: "m" };

describe("an answer", () => {
  it("adds up its events", () => {
    const answer = [
      send("retrieval_plan", PLAN),
      send("retrieval_step", { round: 1, sub_question: "a", hits: [] }),
      send("retrieval_step", { round: 2, sub_question: "b", hits: [] }),
      send("retrieval_done", { rounds: 2, chunks: 5, stop_reason: "sufficient", uncertain: true }),
      send("sources", { sources: [{ number: 1 }] }),
      send("delta", { text: "It is " }),
      send("delta", { text: "so [1]." }),
      send("notice", { text: "uncertain" }),
      send("usage", { prompt_tokens: 1 }),
    ].reduce(withEvent, newAnswer("why?", null, null));

    expect(answer).toMatchObject({
      conversationId: "c",
      messageId: "m",
      phase: "writing",
      text: "It is so [1].",
      notice: "uncertain",
    });
    expect(answer.steps.map((step) => step.sub_question)).toEqual(["a", "b"]);
    expect(isOver(answer)).toBe(false);
    expect(isOver(withEvent(answer, send("done", {})))).toBe(true);
  });

  it("keeps its text when it fails or is stopped", () => {
    const answer = withEvent(newAnswer("why?", null, null), send("delta", { text: "Half" }));

    expect(withEvent(answer, send("stopped", {}))).toMatchObject({ phase: "stopped", text: "Half" });
    expect(withEvent(answer, send("error", { title: "T", detail: "D" }))).toMatchObject({
      phase: "failed",
      text: "Half",
      error: { title: "T", detail: "D" },
    });
  });

  it("is not changed by unknown events or broken data", () => {
    const answer = newAnswer("why?", null, null);

    expect(withEvent(answer, send("novelty", { text: "x" }))).toBe(answer);
    expect(withEvent(answer, { id: null, event: "delta", data: "{" })).toBe(answer);
  });
});
