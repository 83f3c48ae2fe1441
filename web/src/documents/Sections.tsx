import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { ClewFile } from "../api/client";
import { sectionsQuery } from "../api/queries";
import { Empty, Failure, Loading } from "../app/State";
import styles from "./documents.module.css";

/** The heading tree; a click shows the section's passages. */
export function Sections({ file, onOpen }: { file: ClewFile; onOpen: (sectionPath: string) => void }) {
  const { t } = useTranslation();
  const query = useQuery(sectionsQuery(file.file_id, file.version));
  if (query.error) return <Failure error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <Loading />;
  const sections = query.data.filter((section) => section.path !== "");
  if (sections.length === 0) return <Empty title={t("document.noSections")} />;
  return (
    <ul className={styles.sections}>
      {sections.map((section) => (
        <li key={section.path} style={{ paddingLeft: (section.path.split("/").length - 2) * 18 }}>
          <button type="button" onClick={() => onOpen(section.path)}>
            <span>{section.titles.at(-1)}</span>
            {section.page !== null && <span className="quiet">{t("chat.page", { page: section.page })}</span>}
          </button>
          {section.summary && <p>{section.summary}</p>}
        </li>
      ))}
    </ul>
  );
}
