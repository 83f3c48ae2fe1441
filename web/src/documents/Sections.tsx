import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { ClewFile, Section } from "../api/client";
import { sectionsQuery } from "../api/queries";
import { Empty, Failure, Loading } from "../app/State";
import styles from "./documents.module.css";

/** The heading tree; a click shows the section's passages. */
export function Sections({ file, onOpen }: { file: ClewFile; onOpen: (sectionPath: string) => void }) {
  const { t } = useTranslation();
  const query = useQuery(sectionsQuery(file.file_id, file.version));
  if (query.error) return <Failure error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <Loading />;
  // The root is the whole document; its title is the document's own.
  const root = query.data.find((section) => section.path === "");
  const sections = query.data.filter((section) => section.path !== "");
  if (sections.length === 0 && !root?.summary) return <Empty title={t("document.noSections")} />;
  return (
    <ul className={styles.sections}>
      {root?.summary && (
        <li>
          <strong>{t("document.whole")}</strong>
          <Summary section={root} />
        </li>
      )}
      {sections.map((section) => (
        <li key={section.path} style={{ paddingLeft: (section.path.split("/").length - 2) * 18 }}>
          <button type="button" onClick={() => onOpen(section.path)}>
            <span>{section.titles.at(-1)}</span>
            {section.page !== null && <span className="quiet">{t("chat.page", { page: section.page })}</span>}
          </button>
          <Summary section={section} />
        </li>
      ))}
    </ul>
  );
}

function Summary({ section }: { section: Section }) {
  const { t } = useTranslation();
  if (!section.summary) return null;
  return (
    <p>
      {section.summary}{" "}
      {section.summary_source === "extractive" && <span className={styles.extractive}>{t("document.extractive")}</span>}
    </p>
  );
}
