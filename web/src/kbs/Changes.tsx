import { useTranslation } from "react-i18next";
import type { ClewFile } from "../api/client";
import styles from "./kbs.module.css";

/** What the last update of a document changed, and what did not have to be made again. */
export function Changes({ changes }: { changes: NonNullable<ClewFile["changes"]> }) {
  const { t } = useTranslation();
  const counts = [
    "blocks_reused",
    "blocks_changed",
    "blocks_added",
    "blocks_removed",
    "embeddings_made",
    "embeddings_saved",
    "vision_calls_made",
    "vision_calls_saved",
    "edits_kept",
  ] as const;
  return (
    <details className={styles.changes} open>
      <summary>{t("files.changes.title")}</summary>
      <ul>
        {counts
          .filter((name) => changes[name] > 0 || name === "blocks_reused" || name === "embeddings_made")
          .map((name) => (
            <li key={name}>
              <strong>{changes[name]}</strong> {t(`files.changes.${name}`)}
            </li>
          ))}
      </ul>
      {changes.edits_lost.length > 0 && (
        <>
          <p>{t("files.changes.edits_lost")}</p>
          <ul className={styles.lost}>
            {changes.edits_lost.map((edit, index) => (
              // oxlint-disable-next-line react/no-array-index-key -- lost edits have no other identity
              <li key={index}>
                {edit.section_titles.join(" › ")}
                {edit.text !== null && <blockquote>{edit.text}</blockquote>}
              </li>
            ))}
          </ul>
        </>
      )}
    </details>
  );
}
