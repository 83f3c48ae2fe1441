import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { settingsQuery } from "../api/queries";
import { Failure, Loading } from "../app/State";
import { ModelPanel } from "./ModelPanel";
import { Backfill } from "./Backfill";
import { type Lacking, PARTS, lackingOf } from "./models";
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
        {settings.data && <Missing lacking={lackingOf(settings.data.values)} />}
        {settings.data && PARTS.map((part) => <ModelPanel key={part.name} part={part} view={settings.data} />)}
        {settings.data && <Backfill />}
      </div>
    </div>
  );
}

/** Everything that is not set up at a glance, with what is worse without it. */
function Missing({ lacking }: { lacking: readonly Lacking[] }) {
  const { t } = useTranslation();
  if (lacking.length === 0) return <p className={styles.allSet}>{t("settings.allSet")}</p>;
  return (
    <section className={styles.overview} aria-labelledby="missing-models">
      <h2 id="missing-models">{t("settings.lacking")}</h2>
      <ul>
        {lacking.map((name) => (
          <li key={name}>
            {name === "classifier" ? <strong>{t("settings.part.classifier")}</strong> : <a href={`#model-${name}`}>{t(`settings.part.${name}`)}</a>}
            <span>{t(`settings.cost.${name}`)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
