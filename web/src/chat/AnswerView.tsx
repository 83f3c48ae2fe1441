import { ExclamationCircleOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { Suspense, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { lazyPart } from "../app/loading";
import type { Citation, Message } from "../api/client";
import { AnswerActions } from "./AnswerActions";
import { TracePanel } from "./Trace";
import styles from "./chat.module.css";
import { citedNumbers } from "./citationMarks";
import type { TraceView } from "./traceView";

const Markdown = lazyPart(() => import("./Markdown"));

export interface AnswerViewProps {
  text: string;
  citations: readonly Citation[];
  trace: TraceView | null;
  /** Where the trace is shown in full, once it is stored. */
  debugLink?: string | null;
  notice: string | null;
  /** The stored message, once there is one. */
  message?: Message;
  /** Of an answer that is not stored yet. */
  messageId?: string | null;
  /** What is happening, while it happens. */
  activity: string | null;
  streaming: boolean;
  stopped: boolean;
  error: { title: string; detail: string } | null;
  onOpen: (citation: Citation) => void;
  onAskAgain?: () => void;
}

export function AnswerView(props: AnswerViewProps) {
  const { text, citations, trace, notice, activity, streaming, stopped, error, onOpen, onAskAgain } = props;
  const { t } = useTranslation();
  return (
    <article className={styles.answer} aria-label={t("chat.answer")} aria-busy={streaming}>
      {trace && <TracePanel view={trace} debugLink={props.debugLink ?? null} messageId={props.messageId ?? props.message?.message_id ?? null} />}
      {activity && (
        <p className={styles.activity} role="status">
          <span className={styles.pulse} aria-hidden />
          {activity}
        </p>
      )}
      {text && (
        <Suspense fallback={<p className={styles.plain}>{text}</p>}>
          <Markdown text={text} streaming={streaming} citations={citations} onOpen={onOpen} />
        </Suspense>
      )}
      {notice && (
        <div className={styles.notice} role="note">
          <ExclamationCircleOutlined aria-hidden />
          <span>{notice}</span>
        </div>
      )}
      {error && (
        <div className={styles.error} role="alert">
          <strong>{error.title || t("chat.failed")}</strong>
          <span>{error.detail}</span>
          {onAskAgain && (
            <Button size="small" onClick={onAskAgain}>
              {t("chat.askAgain")}
            </Button>
          )}
        </div>
      )}
      {stopped && <p className="quiet">{t("chat.stopped")}</p>}
      {!streaming && text && (
        <>
          <SourceList text={text} citations={citations} onOpen={onOpen} />
          <AnswerActions text={text} message={props.message ?? null} onAskAgain={onAskAgain} />
        </>
      )}
    </article>
  );
}

function SourceList({ text, citations, onOpen }: Pick<AnswerViewProps, "text" | "citations" | "onOpen">) {
  const { t } = useTranslation();
  const cited = useMemo(
    () => citedNumbers(text).flatMap((number) => citations.find((citation) => citation.number === number) ?? []),
    [text, citations],
  );
  if (cited.length === 0) return null;
  return (
    <ul className={styles.sources} aria-label={t("chat.sources")}>
      {cited.map((citation) => (
        <li key={citation.number}>
          <button type="button" className={styles.source} onClick={() => onOpen(citation)}>
            <span className={styles.sourceNumber}>{citation.number}</span>
            <span className={styles.sourceName}>{citation.file_name}</span>
            <span className={styles.sourcePlace}>
              {[citation.page !== null ? t("chat.page", { page: citation.page }) : "", citation.section_titles.at(-1)]
                .filter(Boolean)
                .join(" · ")}
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}
