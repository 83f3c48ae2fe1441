import { ArrowDownOutlined } from "@ant-design/icons";
import { Bubble } from "@ant-design/x";
import { useQuery } from "@tanstack/react-query";
import { Button, Drawer, Grid } from "antd";
import { Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { lazyPart } from "../app/loading";
import { Link, useNavigate, useParams } from "react-router";
import type { Citation, KnowledgeBase, Message, RetrievalMode } from "../api/client";
import { conversationQuery, kbsQuery, messagesQuery } from "../api/queries";
import { Empty, Failure, Loading } from "../app/State";
import { useTold } from "../i18n/told";
import { AnswerView } from "./AnswerView";
import { Composer } from "./Composer";
import { type LiveAnswer, isOver } from "./answer";
import styles from "./chat.module.css";
import { viewOfLive, viewOfTrace } from "./traceView";
import { useAnswer } from "./useAnswer";
import { useAttachments } from "./useAttachments";
import { useStickToBottom } from "./useStickToBottom";

const DocumentPanel = lazyPart(() => import("../documents/DocumentPanel"));

export default function ChatPage() {
  const { conversationId = null } = useParams();
  const navigate = useNavigate();
  // The conversation whose answer this page follows: another address than this leaves the answer.
  const followed = useRef(conversationId);
  const onConversation = useCallback(
    (id: string) => {
      if (followed.current === id) return;
      followed.current = id;
      void navigate(`/chat/${id}`, { replace: true });
    },
    [navigate],
  );
  const { live, ask, watch, stop, leave } = useAnswer(onConversation);
  const kbs = useQuery(kbsQuery);
  const messages = useQuery({ ...messagesQuery(conversationId ?? ""), enabled: conversationId !== null });
  const [opened, setOpened] = useState<Citation | null>(null);
  const [kbIds, setKbIds] = useScope(conversationId, kbs.data);
  const [mode, setMode] = useState<RetrievalMode>("auto");
  const attachments = useAttachments(conversationId, kbIds, onConversation);
  const open = useCallback((citation: Citation) => setOpened({ ...citation }), []);

  useEffect(() => {
    if (followed.current === conversationId) return;
    followed.current = conversationId;
    setOpened(null);
    leave();
  }, [conversationId, leave]);

  const running = messages.data?.findLast((message) => message.status === "streaming")?.message_id;
  useEffect(() => {
    if (running !== undefined && conversationId !== null && live === null) watch(conversationId, running);
  }, [running, conversationId, live, watch]);

  const onAsk = useCallback(
    (question: string) => ask({ question, kbs: kbIds, conversation_id: conversationId, retrieval_mode: mode, kind: "auto" }),
    [ask, kbIds, conversationId, mode],
  );

  const stored = (messages.data ?? []).filter((message) => message.message_id !== live?.messageId);
  const asked = live?.question != null && !messages.data?.some((message) => message.message_id === live.messageId);
  const empty = live === null && (conversationId === null || messages.data?.length === 0);

  if (messages.error) return <Failure error={messages.error} onRetry={() => void messages.refetch()} />;
  return (
    <div className={styles.page} data-split={opened !== null}>
      <section
        className={styles.chat}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          attachments.attach(event.dataTransfer.files);
        }}
      >
        {empty ? (
          <Welcome kbs={kbs.data} />
        ) : (
          <Thread key={conversationId ?? "new"} grows={live}>
            {conversationId !== null && messages.isPending && live === null && <Loading />}
            {stored.map((message) => (
              <StoredMessage key={message.message_id} message={message} onOpen={open} onAsk={onAsk} all={stored} />
            ))}
            {asked && <Question text={live.question ?? ""} />}
            {live && <Live live={live} onOpen={open} onAsk={onAsk} />}
          </Thread>
        )}
        <Composer
          kbs={kbs.data ?? []}
          kbIds={kbIds}
          onKbIds={setKbIds}
          mode={mode}
          onMode={setMode}
          attachments={attachments}
          running={live !== null && !isOver(live)}
          fresh={conversationId === null}
          onAsk={onAsk}
          onStop={stop}
        />
      </section>
      <Source citation={opened} onClose={() => setOpened(null)} />
    </div>
  );
}

/** Beside the chat where there is room, else above it. */
function Source({ citation, onClose }: { citation: Citation | null; onClose: () => void }) {
  const { t } = useTranslation();
  const wide = Grid.useBreakpoint().lg ?? true;
  const panel = citation && (
    <Suspense fallback={<Loading />}>
      <DocumentPanel citation={citation} onClose={onClose} />
    </Suspense>
  );
  if (wide) return panel && <aside className={styles.source_panel} aria-label={t("document.panel")}>{panel}</aside>;
  return (
    <Drawer
      open={citation !== null}
      onClose={onClose}
      placement="bottom"
      size="92%"
      closable={false}
      title={null}
      aria-label={t("document.panel")}
      styles={{ body: { padding: 0 } }}
      destroyOnHidden
    >
      {panel}
    </Drawer>
  );
}

function Thread({ children, grows }: { children: React.ReactNode; grows: unknown }) {
  const { t } = useTranslation();
  const { box, atBottom, toBottom } = useStickToBottom(grows);
  return (
    <div className={styles.threadFrame}>
      <div className={styles.thread} ref={box}>
        <div className={styles.messages}>{children}</div>
      </div>
      {!atBottom && (
        <Button
          className={styles.toBottom}
          shape="circle"
          icon={<ArrowDownOutlined aria-hidden />}
          aria-label={t("chat.toBottom")}
          onClick={toBottom}
        />
      )}
    </div>
  );
}

function Welcome({ kbs }: { kbs: readonly KnowledgeBase[] | undefined }) {
  const { t } = useTranslation();
  const none = kbs !== undefined && kbs.every((kb) => kb.files.completed + kb.files.processing === 0);
  return (
    <div className={styles.welcome}>
      <img src="/icon.svg" alt="" width={52} height={52} />
      <Empty title={t("chat.welcome")} text={none ? t("chat.noKb") : t("chat.welcomeText")}>
        {none && (
          <Link to="/kbs">
            <Button type="primary" tabIndex={-1}>
              {kbs.length === 0 ? t("chat.createKb") : t("kbs.title")}
            </Button>
          </Link>
        )}
      </Empty>
    </div>
  );
}

function Question({ text }: { text: string }) {
  return <Bubble className={styles.question} placement="end" content={text} />;
}

interface StoredProps {
  message: Message;
  all: readonly Message[];
  onOpen: (citation: Citation) => void;
  onAsk: (question: string) => void;
}

function StoredMessage({ message, all, onOpen, onAsk }: StoredProps) {
  const { t } = useTranslation();
  const { told } = useTold();
  const { usage, role, status, content } = message;
  const trace = useMemo(() => (usage.retrieval_trace ? viewOfTrace(usage.retrieval_trace, usage.citations) : null), [usage]);
  if (role === "user") return <Question text={content} />;
  const question = all.slice(0, all.indexOf(message)).findLast((other) => other.role === "user")?.content;
  return (
    <AnswerView
      text={content}
      citations={usage.citations}
      trace={trace}
      message={message}
      debugLink={trace && `/debug?conversation=${message.conversation_id}&message=${message.message_id}`}
      notice={usage.notice ?? null}
      activity={null}
      streaming={false}
      stopped={status === "stopped"}
      error={status === "error" ? { title: t("chat.failed"), detail: told(storedError(usage)) } : null}
      onOpen={onOpen}
      onAskAgain={question === undefined ? undefined : () => onAsk(question)}
    />
  );
}

function storedError(usage: Message["usage"]): string {
  const error = (usage as Record<string, unknown>)["error"];
  if (typeof error === "string") return error;
  return typeof error === "object" && error !== null && "detail" in error ? String(error.detail) : "";
}

function Live({ live, onOpen, onAsk }: { live: LiveAnswer; onOpen: (c: Citation) => void; onAsk: (q: string) => void }) {
  const { t } = useTranslation();
  const { told } = useTold();
  const trace = useMemo(() => (live.plan ? viewOfLive(live) : null), [live]);
  const { question } = live;
  return (
    <AnswerView
      text={live.text}
      citations={live.citations}
      trace={trace}
      notice={live.notice}
      messageId={live.messageId}
      activity={useActivity(live)}
      streaming={!isOver(live)}
      stopped={live.phase === "stopped"}
      error={
        live.error && {
          title: t(live.error.title === "lost" ? "chat.lost" : "chat.failed"),
          detail: told(live.error.detail) || (live.error.title === "lost" ? t("chat.lostText") : t("app.unreachable")),
        }
      }
      onOpen={onOpen}
      onAskAgain={question === null ? undefined : () => onAsk(question)}
    />
  );
}

function useActivity(live: LiveAnswer): string | null {
  const { t } = useTranslation();
  if (live.reconnecting) return t("chat.reconnecting");
  if (live.phase === "starting") return t("chat.thinking");
  if (live.phase === "retrieving") return live.steps.at(-1)?.sub_question ?? t("chat.retrieving");
  return null;
}

const SCOPE_KEY = "clew.scope";

/** Which knowledge bases are asked: as chosen here, else as in the conversation, else as last time, else the first. */
function useScope(
  conversationId: string | null,
  kbs: readonly KnowledgeBase[] | undefined,
): [string[], (ids: string[]) => void] {
  const conversation = useQuery({ ...conversationQuery(conversationId ?? ""), enabled: conversationId !== null });
  const [chosen, setChosen] = useState<{ conversationId: string | null; ids: string[] } | null>(null);
  const known = kbs ?? [];
  const existing = (ids: readonly string[]) =>
    known.filter((kb) => ids.includes(kb.kb_id) || ids.includes(kb.name)).map((kb) => kb.kb_id);
  const choose = (ids: string[]) => {
    localStorage.setItem(SCOPE_KEY, JSON.stringify(ids));
    setChosen({ conversationId, ids });
  };
  if (chosen?.conversationId === conversationId) return [existing(chosen.ids), choose];
  const remembered = [existing(conversation.data?.kb_ids ?? []), existing(storedScope())].find((ids) => ids.length > 0);
  const filled = known.find((kb) => kb.files.completed > 0) ?? known[0];
  return [remembered ?? (filled ? [filled.kb_id] : []), choose];
}

function storedScope(): string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(SCOPE_KEY) ?? "[]");
    return Array.isArray(value) ? value.map(String) : [];
  } catch {
    return [];
  }
}
