import { Segmented } from "antd";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { EvaluationRun } from "../api/client";
import { LineChart } from "./LineChart";
import styles from "./evaluation.module.css";

type Curve = "recall" | "all_support";

/** The table of a run of `clew eval`, the best of each column marked, and its curves. */
export function RetrievalRun({ run }: { run: EvaluationRun }) {
  const { t } = useTranslation();
  const [curve, setCurve] = useState<Curve>("recall");
  const modes = Object.entries(run.modes);
  const columns = Object.keys(modes[0]?.[1] ?? {});
  const curves = Object.entries(run.curves).flatMap(([mode, values]) =>
    Array.isArray(values) ? [] : [{ name: modeName(mode, t), y: values[curve] ?? [] }],
  );
  const best = (column: string) => {
    const values = modes.filter(([mode]) => mode !== "oracle").map(([, row]) => row[column] ?? 0);
    return lowerIsBetter(column) ? Math.min(...values) : Math.max(...values);
  };
  const points = Math.max(0, ...curves.map(({ y }) => y.length));
  return (
    <>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard */}
      <div className={styles.scroll} tabIndex={0} role="region" aria-label={t("evaluation.table")}>
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">{t("evaluation.mode")}</th>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {columnName(column, t)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {modes.map(([mode, row]) => (
              <tr key={mode}>
                <th scope="row">{modeName(mode, t)}</th>
                {columns.map((column) => (
                  <td key={column} data-best={judged(column) && modes.length > 1 && row[column] === best(column)}>
                    {shown(column, row[column] ?? 0)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {points > 1 && (
        <>
          <Segmented<Curve>
            aria-label={t("evaluation.curve")}
            className={styles.choice}
            value={curve}
            onChange={setCurve}
            options={(["recall", "all_support"] as const).map((value) => ({ value, label: t(`evaluation.measure.${value}`) }))}
          />
          <LineChart
            label={t(`evaluation.measure.${curve}`)}
            x={Array.from({ length: points }, (_, index) => index + 1)}
            series={curves}
            xLabel="k"
          />
        </>
      )}
    </>
  );
}

type Translate = ReturnType<typeof useTranslation>["t"];

/** `recall@5` in the page's language; a measure that a newer Clew prints is shown as it is. */
function columnName(column: string, t: Translate): string {
  const [measure = "", k] = column.split("@");
  const name = t(`evaluation.measure.${measure}` as "evaluation.measure.recall", { defaultValue: measure });
  return k === undefined ? name : `${name}@${k}`;
}

function modeName(mode: string, t: Translate): string {
  return t(`evaluation.modes.${mode}` as "evaluation.modes.multi", { defaultValue: mode });
}

function lowerIsBetter(column: string): boolean {
  return column.startsWith("ms_") || column === "tokens";
}

function judged(column: string): boolean {
  return column.includes("@") || column === "mrr" || column.startsWith("ms_");
}

function shown(column: string, value: number): string {
  if (column.startsWith("ms_")) return `${Math.round(value)} ms`;
  return column.includes("@") || column === "mrr" || column.endsWith("share") ? value.toFixed(3) : value.toFixed(1);
}
