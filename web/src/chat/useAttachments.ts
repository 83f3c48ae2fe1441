import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { type Attachment, api, dataOf } from "../api/client";
import { attachmentsQuery } from "../api/queries";
import { attachFile } from "../api/upload";
import { useErrorText } from "../app/State";

/** A file on its way to the server. */
export interface Sending {
  key: number;
  name: string;
  /** 0 to 1. */
  progress: number;
  error: string | null;
}

export interface AttachmentsOf {
  files: readonly Attachment[];
  sending: readonly Sending[];
  attach: (files: Iterable<File>) => void;
  remove: (fileId: string) => void;
  forget: (key: number) => void;
}

/** The files of a conversation. The first file of a new chat makes the conversation: `onConversation` is told its id. */
export function useAttachments(
  conversationId: string | null,
  kbIds: readonly string[],
  onConversation: (conversationId: string) => void,
): AttachmentsOf {
  const queries = useQueryClient();
  const errorText = useErrorText();
  const [sending, setSending] = useState<readonly Sending[]>([]);
  const next = useRef(1);
  const { data } = useQuery({ ...attachmentsQuery(conversationId ?? ""), enabled: conversationId !== null });

  const attach = useCallback(
    async (files: Iterable<File>) => {
      const chosen = [...files].map((file) => ({ file, key: next.current++ }));
      if (chosen.length === 0) return;
      const change = (key: number, values: Partial<Sending>) =>
        setSending((before) => before.map((one) => (one.key === key ? { ...one, ...values } : one)));
      setSending((before) => [...before, ...chosen.map(({ file, key }) => ({ key, name: file.name, progress: 0, error: null }))]);
      let id = conversationId;
      try {
        if (id === null) {
          const title = chosen[0]?.file.name ?? "";
          const made = await dataOf(api.POST("/api/v1/conversations", { body: { title, kbs: [...kbIds] } }));
          id = made.conversation_id;
          onConversation(id);
          void queries.invalidateQueries({ queryKey: ["conversations"] });
        }
      } catch (error) {
        for (const { key } of chosen) change(key, { error: errorText(error) });
        return;
      }
      for (const { file, key } of chosen) {
        try {
          await attachFile(id, file, (progress) => change(key, { progress }), new AbortController().signal);
          setSending((before) => before.filter((one) => one.key !== key));
        } catch (error) {
          change(key, { error: errorText(error) });
        }
        await queries.invalidateQueries({ queryKey: attachmentsQuery(id).queryKey });
      }
    },
    [conversationId, kbIds, onConversation, queries, errorText],
  );

  const remove = useCallback(
    async (fileId: string) => {
      if (conversationId === null) return;
      const path = { conversation_id: conversationId, file_id: fileId };
      await api.DELETE("/api/v1/conversations/{conversation_id}/attachments/{file_id}", { params: { path } }).catch(() => undefined);
      await queries.invalidateQueries({ queryKey: attachmentsQuery(conversationId).queryKey });
    },
    [conversationId, queries],
  );

  const forget = useCallback((key: number) => setSending((before) => before.filter((one) => one.key !== key)), []);
  return { files: data?.files ?? [], sending, attach: (files) => void attach(files), remove: (id) => void remove(id), forget };
}
