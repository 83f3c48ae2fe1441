import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { kbsQuery } from "../api/queries";
import { SummariesButton, SummariesProgress } from "../kbs/Summaries";
import styles from "./settings.module.css";

/** Models apply to what is added from now on; here they are applied to the documents that are there. */
export function Backfill() {
  const { t } = useTranslation();
  const kbs = useQuery(kbsQuery);
  const filled = kbs.data?.filter((kb) => kb.files.completed > 0) ?? [];
  if (filled.length === 0) return null;
  return (
    <section className={styles.panel} aria-label={t("settings.backfill")}>
      <header className={styles.panelHead}>
        <h2>{t("settings.backfill")}</h2>
        <p>{t("settings.backfillText")}</p>
      </header>
      <ul className={styles.backfill}>
        {filled.map((kb) => (
          <li key={kb.kb_id}>
            <span>
              {kb.name} <span className="quiet">{t("kbs.files", { count: kb.files.completed })}</span>
            </span>
            <SummariesButton kb={kb} />
            <SummariesProgress kb={kb} />
          </li>
        ))}
      </ul>
    </section>
  );
}
