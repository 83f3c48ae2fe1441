import { RightOutlined } from "@ant-design/icons";
import { Suspense, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { lazyPart } from "../app/loading";
import { Link } from "react-router";
import styles from "./trace.module.css";
import { type TraceView, summaryOf } from "./traceView";

const TraceDetails = lazyPart(() => import("./TraceDetails"));

/** The retrieval trace: one line, closed; open, every decision and round. */
/** Messages whose trace is open: the answer that was watched becomes the stored one, and stays as it was. */
const opened = new Set<string>();

export function TracePanel({ view, debugLink, messageId }: { view: TraceView; debugLink: string | null; messageId: string | null }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(messageId !== null && opened.has(messageId));
  const id = useId();
  const toggle = () => {
    if (messageId !== null && !open) opened.add(messageId);
    if (messageId !== null && open) opened.delete(messageId);
    setOpen(!open);
  };
  return (
    <div className={styles.trace}>
      <button
        type="button"
        className={styles.summary}
        aria-expanded={open}
        aria-controls={id}
        onClick={toggle}
      >
        <RightOutlined className={styles.arrow} aria-hidden />
        <span className="visually-hidden">{t("trace.show")}{t("app.colon")}</span>
        {summaryOf(view, t)}
      </button>
      <div id={id} hidden={!open} className={styles.body}>
        {open && (
          <Suspense fallback={null}>
            <TraceDetails view={view} />
          </Suspense>
        )}
        {open && debugLink && (
          <p className={styles.end}>
            <Link to={debugLink}>{t("trace.debug")}</Link>
          </p>
        )}
      </div>
    </div>
  );
}
