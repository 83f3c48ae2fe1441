import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { settingsQuery } from "../api/queries";
import { Failure, Loading } from "../app/State";
import { ModelPanel } from "./ModelPanel";
import { PARTS } from "./models";
import styles from "./settings.module.css";

/** The models: set up, tried and saved; what is missing, and what that costs. */
export default function SettingsPage() {
  const { t } = useTranslation();
  const settings = useQuery(settingsQuery);
  return (
    <div className="scroll-page">
      <div className="column">
        <header className="column-head">
          <div>
            <h1>{t("settings.models")}</h1>
            <p>{t("settings.intro")}</p>
          </div>
        </header>
        {settings.error && <Failure error={settings.error} onRetry={() => void settings.refetch()} />}
        {settings.isPending && <Loading />}
        {settings.data?.restart_needed && (
          <p className={styles.missing} role="status">
            {t("settings.restart")}
          </p>
        )}
        {settings.data && PARTS.map((part) => <ModelPanel key={part.name} part={part} view={settings.data} />)}
      </div>
    </div>
  );
}
