import { Segmented } from "antd";
import { type ReactNode, Suspense, lazy, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Citation, ClewFile } from "../api/client";
import { Empty, Loading } from "../app/State";
import { Passages } from "./Passages";
import { Sections } from "./Sections";
import styles from "./documents.module.css";

const PdfView = lazy(() => import("./PdfView"));

type Tab = "original" | "passages" | "sections";

export interface DocumentViewProps {
  file: ClewFile;
  citation: Citation | null;
  extra?: ReactNode;
}

/** A document as its original (where the browser can show it), its passages and its sections. */
export function DocumentView({ file, citation, extra }: DocumentViewProps) {
  const { t } = useTranslation();
  const shown = originalKind(file.media_type);
  const first: Tab = shown === null ? "passages" : "original";
  const [tab, setTab] = useState<Tab>(first);
  const [sectionPath, setSectionPath] = useState<string | null>(null);
  useEffect(() => {
    setTab(first);
    setSectionPath(null);
  }, [citation, first]);

  const searchable = file.version > 0;
  const tabs: Tab[] = [...(shown ? ["original" as const] : []), ...(searchable ? (["passages", "sections"] as const) : [])];
  const url = `/api/v1/files/${encodeURIComponent(file.file_id)}/original`;
  return (
    <div className={styles.view}>
      <div className={styles.tabs}>
        {tabs.length > 1 ? (
          <Segmented<Tab>
            size="small"
            value={tab}
            onChange={(value) => {
              setSectionPath(null);
              setTab(value);
            }}
            options={tabs.map((value) => ({ value, label: t(`document.${value}`) }))}
          />
        ) : (
          <span />
        )}
        {extra}
      </div>
      <div className={styles.viewBody}>
        {tab === "original" && shown === "pdf" && (
          <Suspense fallback={<Loading />}>
            <PdfView url={`${url}?v=${file.version}`} place={citation} />
          </Suspense>
        )}
        {tab === "original" && shown === "image" && <img className={styles.image} src={url} alt={file.name} />}
        {tab === "passages" && !searchable && <Empty title={t("document.notReady")} />}
        {tab === "passages" && searchable && <Passages file={file} citation={citation} sectionPath={sectionPath} />}
        {tab === "sections" && (
          <Sections
            file={file}
            onOpen={(path) => {
              setSectionPath(path);
              setTab("passages");
            }}
          />
        )}
      </div>
    </div>
  );
}

function originalKind(mediaType: string): "pdf" | "image" | null {
  if (mediaType === "application/pdf") return "pdf";
  return mediaType === "image/png" || mediaType === "image/jpeg" ? "image" : null;
}
