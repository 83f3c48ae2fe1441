import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, type ChatRequest, api, errorOf, unreachable } from "../api/client";
import { BrokenStreamError, readEvents } from "../api/events";
import { messagesQuery } from "../api/queries";
import { type LiveAnswer, isLastEvent, isOver, newAnswer, withEvent } from "./answer";

/** After an answer, until its conversation has the name that it keeps. */
const NAMED_AFTER_MS = 4_000;

export interface Asking {
  live: LiveAnswer | null;
  ask: (request: Omit<ChatRequest, "stream">) => void;
  /** Watch an answer that the server is still making. */
  watch: (conversationId: string, messageId: string) => void;
  stop: () => void;
  /** Look away; the answer itself goes on. */
  leave: () => void;
}

/** The one answer that this page is watching. `onConversation` is told which conversation it belongs to as soon as that
 * is known: an answer may be over before the page is drawn again, so no state in between can be relied on. */
export function useAnswer(onConversation: (conversationId: string) => void): Asking {
  const queries = useQueryClient();
  const [live, setLive] = useState<LiveAnswer | null>(null);
  const connection = useRef<AbortController | null>(null);
  const current = useRef<LiveAnswer | null>(null);

  const update = useCallback((answer: LiveAnswer | null) => {
    current.current = answer;
    setLive(answer);
  }, []);

  const follow = useCallback(
    async (first: LiveAnswer, start: ((signal: AbortSignal) => Promise<Response>) | null) => {
      connection.current?.abort(new DOMException("another answer", "AbortError"));
      const controller = new AbortController();
      connection.current = controller;
      let answer = first;
      const set = (next: LiveAnswer) => {
        const { conversationId } = next;
        const isNew = conversationId !== null && conversationId !== answer.conversationId;
        answer = next;
        if (connection.current !== controller) return;
        update(next);
        if (isNew) onConversation(conversationId);
      };
      set(answer);
      try {
        const events = readEvents({
          open: async (lastEventId, signal) => {
            let response: Response;
            if (lastEventId === null && start !== null) {
              response = await start(signal).catch((error: unknown) => {
                // Asking twice is worse than asking the person to try again.
                throw error instanceof TypeError ? unreachable() : error;
              });
            } else {
              if (answer.messageId === null) throw unreachable();
              response = await fetch(`/api/v1/chat/${encodeURIComponent(answer.messageId)}/events`, {
                headers: { "Last-Event-ID": lastEventId ?? "0" },
                signal,
              });
            }
            if (!response.ok) throw await errorOf(response);
            const messageId = response.headers.get("Clew-Message-Id");
            if (messageId !== null) set({ ...answer, messageId });
            return response;
          },
          isLast: isLastEvent,
          signal: controller.signal,
          onReconnecting: (reconnecting) => set({ ...answer, reconnecting }),
        });
        for await (const event of events) {
          set(withEvent(answer, event));
          if (event.event === "retrieval_plan") void queries.invalidateQueries({ queryKey: ["conversations"] });
        }
      } catch (error) {
        if (controller.signal.aborted) return;
        set({ ...answer, phase: "failed", reconnecting: false, error: shown(error) });
      }
      if (answer.conversationId !== null) {
        const stored = messagesQuery(answer.conversationId);
        await queries.invalidateQueries({ queryKey: stored.queryKey, refetchType: "none" });
        // Fetched even if the page does not show the conversation yet.
        await queries.fetchQuery(stored).catch(() => undefined);
        void queries.invalidateQueries({ queryKey: ["conversations"] });
        // A language model may still be naming the conversation.
        setTimeout(() => void queries.invalidateQueries({ queryKey: ["conversations"] }), NAMED_AFTER_MS);
      }
      // The stored message has taken the place of the live one; a failure that was not stored stays in sight.
      if (connection.current === controller && answer.error === null) update(null);
    },
    [queries, update, onConversation],
  );

  const ask = useCallback(
    (request: Omit<ChatRequest, "stream">) => {
      const start = (signal: AbortSignal) =>
        fetch("/api/v1/chat", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ ...request, stream: true }),
          signal,
        });
      void follow(newAnswer(request.question, request.conversation_id ?? null, null), start);
    },
    [follow],
  );

  const watch = useCallback(
    (conversationId: string, messageId: string) => {
      if (current.current?.messageId !== messageId) void follow(newAnswer(null, conversationId, messageId), null);
    },
    [follow],
  );

  const stop = useCallback(() => {
    const answer = current.current;
    if (answer?.messageId && !isOver(answer)) {
      api
        .POST("/api/v1/chat/{message_id}/stop", { params: { path: { message_id: answer.messageId } } })
        .catch((error: unknown) => update({ ...answer, error: shown(error) }));
    }
  }, [update]);

  const leave = useCallback(() => {
    connection.current?.abort(new DOMException("left", "AbortError"));
    connection.current = null;
    update(null);
  }, [update]);

  useEffect(() => () => connection.current?.abort(new DOMException("left", "AbortError")), []);

  return { live, ask, watch, stop, leave };
}

/** Kinds that the page has its own words for have an empty detail. */
function shown(error: unknown): { title: string; detail: string } {
  if (error instanceof ApiError) return { title: error.title, detail: error.message };
  if (error instanceof BrokenStreamError) return { title: "lost", detail: "" };
  return { title: "", detail: String(error) };
}
