import { Segmented } from "antd";
import { type ReactNode, Suspense, useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { lazyPart } from "../app/loading";
import type { Block, Citation, ClewFile } from "../api/client";
import { Empty, Loading } from "../app/State";
import { Blocks } from "./Blocks";
import { Passages } from "./Passages";
import { Sections } from "./Sections";
import styles from "./documents.module.css";

const PdfView = lazyPart(() => import("./PdfView"));

type Tab = "original" | "blocks" | "passages" | "sections";

export interface DocumentViewProps {
  file: ClewFile;
  citation: Citation | null;
  extra?: ReactNode;
}

/** A document as its original (where the browser can show it), its blocks, its passages and its sections. */
export function DocumentView({ file, citation, extra }: DocumentViewProps) {
  const { t } = useTranslation();
  const shown = originalKind(file.media_type);
  const first: Tab = shown === null ? "passages" : "original";
  const [tab, setTab] = useState<Tab>(first);
  const [sectionPath, setSectionPath] = useState<string | null>(null);
  const [block, setBlock] = useState<Block | null>(null);
  // A new object is shown anew, so one place stays one object.
  const place = useMemo(() => (block ? placeOf(block) : citation), [block, citation]);
  useEffect(() => {
    setTab(first);
    setSectionPath(null);
    setBlock(null);
  }, [citation, first]);

  const searchable = file.version > 0;
  const tabs: Tab[] = [...(shown ? ["original" as const] : []), ...(searchable ? (["blocks", "passages", "sections"] as const) : [])];
  const url = `/api/v1/files/${encodeURIComponent(file.file_id)}/original`;
  return (
    <div className={styles.view}>
      <div className={styles.tabs}>
        {tabs.length > 1 ? (
          <Segmented<Tab>
            aria-label={t("document.view")}
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
            <PdfView url={`${url}?v=${file.version}`} place={place} />
          </Suspense>
        )}
        {tab === "original" && shown === "image" && <img className={styles.image} src={url} alt={file.name} />}
        {tab === "passages" && !searchable && <Empty title={t("document.notReady")} />}
        {tab === "passages" && searchable && <Passages file={file} citation={citation} sectionPath={sectionPath} />}
        {tab === "blocks" && (
          <Blocks
            file={file}
            onPlace={
              shown === "pdf"
                ? (chosen) => {
                    setBlock(chosen);
                    setTab("original");
                  }
                : null
            }
          />
        )}
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

/** A block's own box on its page. */
function placeOf({ page, bbox }: Block): Pick<Citation, "page" | "regions" | "quote"> {
  return { page, regions: page !== null && bbox ? [{ page, bbox }] : [], quote: "" };
}

function originalKind(mediaType: string): "pdf" | "image" | null {
  if (mediaType === "application/pdf") return "pdf";
  return mediaType === "image/png" || mediaType === "image/jpeg" ? "image" : null;
}
