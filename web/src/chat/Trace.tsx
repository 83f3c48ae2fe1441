import { RightOutlined } from "@ant-design/icons";
import { Suspense, lazy, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import styles from "./trace.module.css";
import { type TraceView, summaryOf } from "./traceView";

const TraceDetails = lazy(() => import("./TraceDetails"));

/** The retrieval trace: one line, closed; open, every decision and round. */
export function TracePanel({ view, debugLink }: { view: TraceView; debugLink: string | null }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const id = useId();
  return (
    <div className={styles.trace}>
      <button
        type="button"
        className={styles.summary}
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        <RightOutlined className={styles.arrow} aria-hidden />
        <span className="visually-hidden">{t("trace.show")}: </span>
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
