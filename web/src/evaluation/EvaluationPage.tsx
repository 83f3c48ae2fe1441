import { useQuery } from "@tanstack/react-query";
import { Segmented } from "antd";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Decision, EvaluationRun } from "../api/client";
import { decisionsQuery, evaluationsQuery, settingsQuery } from "../api/queries";
import { Empty, Failure, Loading } from "../app/State";
import { thresholdName } from "../debug/Thresholds";
import { replayMode } from "../debug/replay";
import { moment } from "../kbs/format";
import { type Values, valueAt } from "../settings/schema";
import { DecisionRun } from "./DecisionRun";
import { RetrievalRun } from "./RetrievalRun";
import { LineChart } from "./LineChart";
import styles from "./evaluation.module.css";

/** What `clew eval` and `clew tune` measured, and what the thresholds would make of the questions asked so far. */
export default function EvaluationPage() {
  const { t } = useTranslation();
  const runs = useQuery(evaluationsQuery);
  const decisions = useQuery(decisionsQuery);
  const settings = useQuery(settingsQuery);
  return (
    <div className="scroll-page">
      <div className="column wide">
        <header className="column-head">
          <div>
            <h1>{t("evaluation.title")}</h1>
            <p>{t("evaluation.intro")}</p>
          </div>
        </header>
        {runs.error && <Failure error={runs.error} onRetry={() => void runs.refetch()} />}
        {runs.isPending && <Loading />}
        {runs.data?.length === 0 && (
          <Empty title={t("evaluation.empty")} text={t("evaluation.emptyText")}>
            <code className={styles.command}>clew eval --corpus corpus.jsonl --queries queries.jsonl --mode single,multi,auto</code>
          </Empty>
        )}
        {runs.data?.map((run) => (
          <Run key={run.run_id} run={run} values={settings.data?.values} />
        ))}
        {decisions.data && decisions.data.length > 0 && settings.data && (
          <Asked decisions={decisions.data} values={settings.data.values} />
        )}
      </div>
    </div>
  );
}

function Run({ run, values }: { run: EvaluationRun; values: Values | undefined }) {
  const { t, i18n } = useTranslation();
  const name = run.kind === "retrieval" ? run.corpus : run.file;
  return (
    <section className={styles.run} aria-label={`${name}, ${moment(run.created_at, i18n.language)}`}>
      <header>
        <h2>{name}</h2>
        <span className="quiet">
          {t(run.kind === "retrieval" ? "evaluation.retrieval" : "evaluation.decisions")} ·{" "}
          {t("evaluation.questions", { count: run.kind === "retrieval" ? run.queries : (run.agreement["n"] ?? 0) })} ·{" "}
          {moment(run.created_at, i18n.language)}
        </span>
      </header>
      {run.kind === "retrieval" ? <RetrievalRun run={run} /> : <DecisionRun run={run} values={values} />}
    </section>
  );
}

const STEPS = Array.from({ length: 51 }, (_, index) => index / 50);

/** Without labels nothing can be right or wrong; what a threshold costs can still be seen. */
function Asked({ decisions, values }: { decisions: readonly Decision[]; values: Values }) {
  const { t } = useTranslation();
  const current = (valueAt(values, "complexity") ?? {}) as Record<string, unknown>;
  const names = Object.keys(current).filter((name) => name.endsWith("_threshold"));
  const [name, setName] = useState("rules_multi_threshold");
  const thresholds = Object.fromEntries(names.map((one) => [one, Number(current[one])]));
  const shares = STEPS.map(
    (value) => decisions.filter((decision) => replayMode(decision, { ...thresholds, [name]: value }) === "multi").length / decisions.length,
  );
  return (
    <section className={styles.run} aria-label={t("evaluation.asked")}>
      <header>
        <h2>{t("evaluation.asked")}</h2>
        <span className="quiet">{t("evaluation.questions", { count: decisions.length })}</span>
      </header>
      <p className="quiet">{t("evaluation.askedText")}</p>
      <Segmented
        aria-label={t("evaluation.threshold")}
        value={name}
        onChange={setName}
        options={names.map((value) => ({ value, label: thresholdName(value, t) }))}
        className={styles.choice}
      />
      <LineChart
        label={`${t("evaluation.measure.multi_share")}: ${thresholdName(name, t)}`}
        x={STEPS}
        series={[{ name: t("evaluation.measure.multi_share"), y: shares }]}
        mark={{ x: thresholds[name] ?? 0, label: t("evaluation.now") }}
      />
    </section>
  );
}
