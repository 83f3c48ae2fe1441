import { Segmented } from "antd";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { EvaluationRun } from "../api/client";
import { thresholdName } from "../debug/Thresholds";
import { type Values, valueAt } from "../settings/schema";
import { LineChart } from "./LineChart";
import styles from "./evaluation.module.css";

const MEASURES = ["precision", "recall", "f1", "multi_share"] as const;

/** Decisions against labels: how well they agree, and how each threshold changes that; the setting of today is marked. */
export function DecisionRun({ run, values }: { run: EvaluationRun; values: Values | undefined }) {
  const { t } = useTranslation();
  const names = Object.keys(run.curves);
  const [name, setName] = useState(names[0] ?? "");
  const curve = run.curves[name];
  const points = Array.isArray(curve) ? curve : [];
  const current = valueAt(values, `complexity.${name}`) ?? run.thresholds[name];
  return (
    <>
      <dl className={styles.facts}>
        {(["accuracy", ...MEASURES] as const).map((measure) => (
          <div key={measure}>
            <dt>{t(`evaluation.measure.${measure}`)}</dt>
            <dd>{(run.agreement[measure] ?? 0).toFixed(3)}</dd>
          </div>
        ))}
      </dl>
      <Segmented
        aria-label={t("evaluation.threshold")}
        className={styles.choice}
        value={name}
        onChange={setName}
        options={names.map((value) => ({ value, label: thresholdName(value, t) }))}
      />
      <LineChart
        label={thresholdName(name, t)}
        x={points.map((point) => point.threshold)}
        series={MEASURES.map((measure) => ({ name: t(`evaluation.measure.${measure}`), y: points.map((point) => point[measure]) }))}
        mark={typeof current === "number" ? { x: current, label: t("evaluation.now") } : undefined}
      />
    </>
  );
}
