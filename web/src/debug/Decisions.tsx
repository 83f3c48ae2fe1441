import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Decision, KindDecision } from "../api/client";
import { decisionsQuery } from "../api/queries";
import { featuresOf, sourceName } from "../chat/traceView";
import { useTold } from "../i18n/told";
import { Bars } from "./Bars";
import { Thresholds } from "./Thresholds";
import styles from "./debug.module.css";
import { SIGNALS } from "./signals";
import { replayKind, replayMode, turnedOver } from "./replay";

/** Single or multi: what was seen, what it weighed, and what other thresholds would have made of it. */
export function ComplexityCard({ decision }: { decision: Decision }) {
  const { t } = useTranslation();
  const { told } = useTold();
  const recorded = decision.thresholds ?? {};
  const [moved, setMoved] = useMoved(recorded);
  const decisions = useQuery(decisionsQuery);
  const turned = useMemo(() => turnedOver(decisions.data ?? [], moved).length, [decisions.data, moved]);
  const mode = replayMode(decision, moved);
  const probability = decision.classifier_probability ?? null;
  const features = featuresOf(decision.features);
  const entities = decision.features["entity_texts"];
  return (
    <section className={styles.card} aria-label={t("trace.decision")}>
      <header>
        <h3>{t(`trace.${decision.mode}`)}</h3>
        <span>{sourceName(decision.source, t)}</span>
        <Milliseconds ms={decision.ms} />
      </header>
      <p className={styles.reason}>{told(decision.reason)}</p>
      <dl className={styles.facts}>
        <Fact name={t("trace.score")} value={decision.rule_score.toFixed(3)} />
        {probability !== null && (
          <Fact name={t("trace.probability")} value={`${probability.toFixed(3)} (${stepName(decision.classifier_name ?? "", t)})`} />
        )}
        {decision.head_probability != null && <Fact name={t("debug.head")} value={decision.head_probability.toFixed(3)} />}
        {decision.llm_verdict != null && (
          <Fact name={t("debug.modelVerdict")} value={t(decision.llm_verdict ? "trace.multi" : "trace.single")} />
        )}
        {decision.first_look_probability != null && (
          <Fact name={t("debug.firstLook")} value={decision.first_look_probability.toFixed(3)} />
        )}
        {Array.isArray(entities) && entities.length > 0 && <Fact name={t("trace.entities")} value={entities.join(t("app.comma"))} />}
      </dl>
      <div className={styles.halves}>
        <div>
      <h4>{t("trace.features")}</h4>
      <Bars
        bars={features.map(([name, value]) => ({
          name: t(`trace.feature.${name}` as "trace.feature.logic", { defaultValue: name }),
          value,
          share: value,
        }))}
      />
      <Evidence evidence={decision.evidence ?? {}} />
      </div>
      {Object.keys(recorded).length > 0 && decision.source !== "request" && (
        <Thresholds
          recorded={recorded}
          moved={moved}
          onMoved={setMoved}
          measured={(name) => (name.includes("rules") ? decision.rule_score : probability)}
          outcome={
            <>
              {t(mode === decision.mode ? "debug.stays" : "debug.becomes", { outcome: t(`trace.${mode}`) })}
              {decisions.data && ` ${t("debug.turned", { count: turned, total: decisions.data.length })}`}
            </>
          }
        />
      )}
      </div>
      <Failures failures={decision.failures ?? {}} />
      {decision.source === "request" && <p className="quiet">{t("debug.asRequested")}</p>}
    </section>
  );
}

/** Fact or summary. */
export function KindCard({ decision }: { decision: KindDecision }) {
  const { t } = useTranslation();
  const { told } = useTold();
  const recorded = decision.thresholds ?? {};
  const [moved, setMoved] = useMoved(recorded);
  const kind = replayKind(decision, moved);
  const measured: Record<string, number | null> = {
    title_threshold: decision.title_similarity ?? null,
    title_vector_threshold: decision.title_vector_similarity ?? null,
  };
  return (
    <section className={styles.card} aria-label={t("trace.kind")}>
      <header>
        <h3>{t(`trace.${decision.kind}`)}</h3>
        <span>{t(`debug.kindSource.${decision.source}` as "debug.kindSource.r1", { defaultValue: decision.source })}</span>
        <Milliseconds ms={decision.ms} />
      </header>
      <p className={styles.reason}>{told(decision.reason)}</p>
      <dl className={styles.facts}>
        <Fact name={t("debug.kindScore")} value={decision.score.toFixed(3)} />
        {decision.title_similarity != null && <Fact name={t("debug.titles")} value={decision.title_similarity.toFixed(3)} />}
        {decision.llm_verdict != null && (
          <Fact name={t("debug.modelVerdict")} value={t(decision.llm_verdict ? "trace.summary" : "trace.fact")} />
        )}
        {(decision.titles ?? []).length > 0 && <Fact name={t("debug.matchedTitles")} value={(decision.titles ?? []).join(" / ")} />}
      </dl>
      <div className={styles.halves}>
      <div>
      <Evidence evidence={decision.signals ?? {}} />
      </div>
      {Object.keys(recorded).length > 0 && decision.source !== "request" && (
        <Thresholds
          recorded={recorded}
          moved={moved}
          onMoved={setMoved}
          measured={(name) => (name in measured ? (measured[name] ?? null) : decision.score)}
          outcome={t(kind === decision.kind ? "debug.stays" : "debug.becomes", { outcome: t(`trace.${kind}`) })}
        />
      )}
      </div>
      <Failures failures={decision.failures ?? {}} />
      {decision.source === "request" && <p className="quiet">{t("debug.asRequested")}</p>}
    </section>
  );
}

/** The moved thresholds; a new decision begins with its own. */
function useMoved(recorded: Readonly<Record<string, number>>) {
  const [moved, setMoved] = useState(recorded);
  useEffect(() => setMoved(recorded), [recorded]);
  return [moved, setMoved] as const;
}

function Evidence({ evidence }: { evidence: Readonly<Record<string, number>> }) {
  const { t } = useTranslation();
  const { told } = useTold();
  const entries = Object.entries(evidence).filter(([, value]) => value !== 0);
  if (entries.length === 0) return null;
  const largest = Math.max(...entries.map(([, value]) => Math.abs(value)));
  return (
    <>
      <h4>{t("debug.evidence")}</h4>
      <Bars bars={entries.map(([name, value]) => ({ name: told(SIGNALS[name] ?? name), value, share: value / largest }))} />
    </>
  );
}

function Failures({ failures }: { failures: Readonly<Record<string, string>> }) {
  const { t } = useTranslation();
  const { told } = useTold();
  const entries = Object.entries(failures);
  if (entries.length === 0) return null;
  return (
    <ul className={styles.failures}>
      {entries.map(([step, message]) => (
        <li key={step}>
          {stepName(step, t)}{t("app.colon")}{told(message)}
        </li>
      ))}
    </ul>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** What a step, or a count of tokens, is called. */
export function stepName(name: string, t: ReturnType<typeof useTranslation>["t"]): string {
  return t(`debug.step.${name}` as "debug.step.rules", { defaultValue: name });
}

function Milliseconds({ ms }: { ms: Readonly<Record<string, number>> | undefined }) {
  const { t } = useTranslation();
  const total = ms?.["total"];
  if (total === undefined) return null;
  const steps = Object.entries(ms ?? {}).filter(([name]) => name !== "total");
  return (
    <span className="quiet" title={steps.map(([name, value]) => `${stepName(name, t)} ${value.toFixed(1)} ms`).join("\n")}>
      {total.toFixed(1)} ms
    </span>
  );
}
