import { useInfiniteQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { useEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Citation, ClewFile, Passage } from "../api/client";
import { passagesQuery } from "../api/queries";
import { Empty, Failure, Loading } from "../app/State";
import { PassageEdit } from "./PassageEdit";
import styles from "./documents.module.css";
import { piecesOf } from "./highlight";

export interface PassagesProps {
  file: ClewFile;
  citation: Citation | null;
  /** Begin at this section; null for the citation, or the start. */
  sectionPath: string | null;
}

/** The passages of a document in reading order, the cited one marked. */
export function Passages({ file, citation, sectionPath }: PassagesProps) {
  const { t } = useTranslation();
  const query = useInfiniteQuery(passagesQuery(file.file_id, file.version));
  const { data, hasNextPage, isFetching, fetchNextPage } = query;
  const passages = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const target = useMemo(() => {
    if (sectionPath !== null) return passages.find((passage) => passage.parent.section_path.startsWith(sectionPath));
    return passages.find((passage) => passage.children.some((child) => child.chunk_id === citation?.chunk_id));
  }, [passages, citation, sectionPath]);
  const sought = citation !== null || sectionPath !== null;
  const box = useRef<HTMLDivElement | null>(null);

  // What is sought may lie behind what was loaded so far.
  useEffect(() => {
    if (sought && !target && hasNextPage && !isFetching) void fetchNextPage();
  }, [sought, target, hasNextPage, isFetching, fetchNextPage]);

  const targetId = target?.parent.chunk_id;
  useEffect(() => {
    if (targetId === undefined) return;
    const element = [...(box.current?.querySelectorAll<HTMLElement>("[data-chunk]") ?? [])].find(
      (candidate) => candidate.dataset["chunk"] === targetId,
    );
    const mark = sectionPath === null ? element?.querySelector("mark") : null;
    (mark ?? element)?.scrollIntoView({ block: mark ? "center" : "start" });
  }, [targetId, citation, sectionPath]);

  if (query.error) return <Failure error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <Loading />;
  if (passages.length === 0) return <Empty title={t("document.noPassages")} />;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className={styles.passages} ref={box} tabIndex={0} role="region" aria-label={t("document.passages")}>
      {passages.map((passage, index) => (
        <PassageText
          key={passage.parent.chunk_id}
          file={file}
          editable={citation === null}
          passage={passage}
          previous={passages[index - 1] ?? null}
          citation={passage === target ? citation : null}
        />
      ))}
      {hasNextPage && (
        <Button loading={isFetching} onClick={() => void fetchNextPage()}>
          {t("app.more")}
        </Button>
      )}
    </div>
  );
}

interface PassageTextProps {
  file: ClewFile;
  /** Beside a chat a passage is only read. */
  editable: boolean;
  passage: Passage;
  previous: Passage | null;
  citation: Citation | null;
}

function PassageText({ file, editable, passage, previous, citation }: PassageTextProps) {
  const { t } = useTranslation();
  const { parent, children } = passage;
  const heading = parent.section_titles.join(" › ");
  const cited = children.find((child) => child.chunk_id === citation?.chunk_id) ?? null;
  const meta = [
    parent.page !== null ? t("document.page", { page: parent.page }) : "",
    t("document.tokens", { count: parent.tokens }),
  ];
  return (
    <article className={styles.passage} data-chunk={parent.chunk_id} data-hidden={!parent.enabled}>
      {heading !== previous?.parent.section_titles.join(" › ") && heading && <h3>{heading}</h3>}
      <p className={styles.passageText}>
        {piecesOf(parent.text, cited, citation?.quote ?? "").map((piece, index) =>
          piece.mark === "none" ? (
            piece.text
          ) : (
            // oxlint-disable-next-line react/no-array-index-key -- pieces have no other identity
            <mark key={index} className={piece.mark === "quote" ? styles.quote : styles.cited}>
              {piece.text}
            </mark>
          ),
        )}
      </p>
      {editable && <PassageEdit file={file} parent={parent} />}
      <details className={styles.children}>
        <summary>
          {meta.filter(Boolean).join(" · ")} · {t("document.children", { count: children.length })}
        </summary>
        <ol>
          {children.map((child) => (
            <li key={child.chunk_id}>{child.text}</li>
          ))}
        </ol>
      </details>
    </article>
  );
}
