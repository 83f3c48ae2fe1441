import { useTranslation } from "react-i18next";
import { useTold } from "../i18n/told";
import { SectionsRead } from "./SectionsRead";
import { ThreadPicture } from "./ThreadPicture";
import styles from "./trace.module.css";
import { type RoundView, type TraceView, featuresOf, plannerName, sourceName } from "./traceView";

/** Every decision and round of a trace. */
export default function TraceDetails({ view }: { view: TraceView }) {
  const { t } = useTranslation();
  const { told } = useTold();
  return (
    <>
      <dl className={styles.facts}>
        {view.mode && (
          <Fact name={t("trace.decision")}>
            {t(`trace.${view.mode}`)}
            {view.source && ` · ${sourceName(view.source, t)}`}
            {view.decision?.reason && <span className={styles.reason}>{told(view.decision.reason)}</span>}
          </Fact>
        )}
        {view.decision && <Fact name={t("trace.score")}>{view.decision.rule_score.toFixed(2)}</Fact>}
        {view.decision?.classifier_probability != null && (
          <Fact name={t("trace.probability")}>
            {view.decision.classifier_probability.toFixed(2)}
            {view.decision.model_version && ` · ${view.decision.model_version}`}
          </Fact>
        )}
        {view.kind && <Fact name={t("trace.kind")}>{t(`trace.${view.kind}`)}</Fact>}
        {view.rewritten && <Fact name={t("trace.rewritten")}>{view.rewritten}</Fact>}
        {view.planner && <Fact name={t("trace.planner")}>{plannerName(view.planner, t)}</Fact>}
      </dl>
      {view.decision && <Features features={view.decision.features} />}
      {view.sections && <SectionsRead reading={view.sections} />}
      {view.thread && <ThreadPicture thread={view.thread} />}
      <ol className={styles.rounds}>
        {view.rounds.map((round) => (
          <Round key={round.round} round={round} />
        ))}
      </ol>
      {view.stopReason && view.rounds.length > 0 && (
        <p className={styles.end}>
          {t("trace.stop")}{t("app.colon")}{t(`trace.reasons.${view.stopReason}` as "trace.reasons.single", { defaultValue: view.stopReason })}
          {view.uncertainReason && ` · ${told(view.uncertainReason)}`}
        </p>
      )}
      {view.degraded.length > 0 && (
        <p className={styles.end}>
          {t("trace.degraded")}{t("app.colon")}{view.degraded.map(told).join(t("app.between"))}
        </p>
      )}
    </>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The numeric features that the rules weigh, each from 0 to 1. */
function Features({ features }: { features: Record<string, unknown> }) {
  const { t } = useTranslation();
  const numbers = featuresOf(features);
  if (numbers.length === 0) return null;
  return (
    <ul className={styles.features} aria-label={t("trace.features")}>
      {numbers.map(([name, value]) => (
        <li key={name}>
          <span>{t(`trace.feature.${name}` as "trace.feature.logic", { defaultValue: name })}</span>
          <span className={styles.bar} aria-hidden>
            <span style={{ width: `${value * 100}%` }} />
          </span>
          <span className={styles.number}>{value.toFixed(2)}</span>
        </li>
      ))}
    </ul>
  );
}

function Round({ round }: { round: RoundView }) {
  const { t } = useTranslation();
  const { told } = useTold();
  return (
    <li className={styles.round}>
      <p className={styles.question}>
        <span className={styles.roundName}>{t("trace.round", { round: round.round })}</span> {round.subQuestion}
      </p>
      <p className={styles.counts}>
        {t("trace.hits", { count: round.hits.length })} · {t("trace.new", { count: round.newChunks })}
        {round.ms !== null && round.ms > 0 && ` · ${Math.round(round.ms)} ms`}
        {round.entities.length > 0 && ` · ${t("trace.entities")}${t("app.colon")}${round.entities.join(t("app.comma"))}`}
      </p>
      {round.hits.length > 0 && (
        <ul className={styles.hits}>
          {round.hits.slice(0, 8).map((hit) => (
            <li key={hit.chunkId} data-new={hit.isNew}>
              {[hit.file, hit.section, hit.page !== null ? t("chat.page", { page: hit.page }) : ""]
                .filter(Boolean)
                .join(" · ")}
            </li>
          ))}
        </ul>
      )}
      {round.why && (
        <p className={styles.why}>
          {round.goesOn ? t("trace.goesOn") : t("trace.stops")}{t("app.colon")}{told(round.why)}
        </p>
      )}
    </li>
  );
}
