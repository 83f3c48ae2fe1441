import { useTranslation } from "react-i18next";
import type { SectionReading } from "../api/client";
import { useTold } from "../i18n/told";
import styles from "./trace.module.css";

const SHOWN = 12;

/** Which sections a summary question means, and how much of them was read. */
export function SectionsRead({ reading }: { reading: SectionReading }) {
  const { t } = useTranslation();
  const { told } = useTold();
  const sections = reading.sections ?? [];
  return (
    <div className={styles.read}>
      <p>
        <strong>{t(`trace.reading.${reading.scope}`)}</strong>{" "}
        {t(`trace.readingSource.${reading.source}` as "trace.readingSource.titles", { defaultValue: reading.source })}
        {reading.matched > 0 && ` · ${t("trace.readOf", { matched: reading.matched, read: reading.read })}`}
        {reading.text && ` · ${t("trace.readText")}`}
      </p>
      {reading.fallback && (
        <p>
          {t("trace.readFallback")}{t("app.colon")}{told(reading.fallback)}
        </p>
      )}
      <ul className={styles.hits}>
        {sections.slice(0, SHOWN).map((section) => {
          const titles = Array.isArray(section["titles"]) ? section["titles"].map(String) : [];
          return (
            <li key={`${String(section["file_id"])}/${String(section["section_path"])}`} data-new="true">
              {[String(section["file"] ?? ""), titles.join(" › ")].filter(Boolean).join(" · ")}
            </li>
          );
        })}
      </ul>
      {sections.length > SHOWN && <p>{t("trace.readMore", { count: sections.length - SHOWN })}</p>}
    </div>
  );
}
