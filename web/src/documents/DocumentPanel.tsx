import { CloseOutlined, ExpandOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button, Tooltip } from "antd";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { ApiError, type Citation } from "../api/client";
import { fileQuery } from "../api/queries";
import { Failure, Loading } from "../app/State";
import { DocumentView } from "./DocumentView";
import styles from "./documents.module.css";

/** The source of a citation, at its place. */
export default function DocumentPanel({ citation, onClose }: { citation: Citation; onClose: () => void }) {
  const { t } = useTranslation();
  const file = useQuery(fileQuery(citation.file_id));
  const title = useRef<HTMLHeadingElement | null>(null);
  // Who reads by keyboard or ear is taken to the source, and back to the citation.
  useEffect(() => {
    const before = document.activeElement;
    title.current?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => title.current?.focus({ preventScroll: true }), [citation]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented) onClose();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [onClose]);
  const place = [
    citation.page !== null ? t("document.page", { page: citation.page }) : "",
    citation.section_titles.join(" › "),
  ];
  return (
    <div className={styles.panel}>
      <header className={styles.panelHead}>
        <div className={styles.panelTitle}>
          <h2 ref={title} tabIndex={-1} title={citation.file_name}>{citation.file_name}</h2>
          <p>{place.filter(Boolean).join(" · ")}</p>
        </div>
        {file.data && (
          <Tooltip title={t("document.fullView")}>
            <Link to={`/kbs/${file.data.kb_id}/files/${file.data.file_id}`} aria-label={t("document.fullView")}>
              <Button type="text" icon={<ExpandOutlined aria-hidden />} tabIndex={-1} aria-hidden />
            </Link>
          </Tooltip>
        )}
        <Button type="text" icon={<CloseOutlined aria-hidden />} aria-label={t("app.close")} onClick={onClose} />
      </header>
      {file.isPending && <Loading />}
      {file.error && (
        <>
          {file.error instanceof ApiError && file.error.status === 404 ? (
            <p className={styles.gone}>{t("document.gone")}</p>
          ) : (
            <Failure error={file.error} onRetry={() => void file.refetch()} />
          )}
          <blockquote className={styles.kept}>{citation.text || citation.quote}</blockquote>
        </>
      )}
      {file.data && <DocumentView file={file.data} citation={citation} />}
    </div>
  );
}
