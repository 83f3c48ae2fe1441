import { Button, Slider } from "antd";
import { useTranslation } from "react-i18next";
import type { Thresholds as Values } from "./replay";
import styles from "./debug.module.css";

export interface ThresholdsProps {
  /** Those of the decision. */
  recorded: Values;
  moved: Values;
  onMoved: (moved: Values) => void;
  /** What was measured and is held against each threshold; null where nothing was. */
  measured: (name: string) => number | null;
  /** What the moved thresholds would have decided. */
  outcome: React.ReactNode;
}

export function thresholdName(name: string, t: ReturnType<typeof useTranslation>["t"]): string {
  return t(`debug.threshold.${name}` as "debug.threshold.rules_multi_threshold", { defaultValue: name });
}

/** One slider a threshold, with the measured value marked on it. */
export function Thresholds({ recorded, moved, onMoved, measured, outcome }: ThresholdsProps) {
  const { t } = useTranslation();
  const names = Object.keys(recorded);
  const label = (name: string) => thresholdName(name, t);
  const changed = names.some((name) => recorded[name] !== moved[name]);
  return (
    <div className={styles.thresholds}>
      <h4>{t("debug.thresholds")}</h4>
      {names.map((name) => {
        const value = measured(name);
        return (
          <div key={name} className={styles.threshold}>
            <span title={name}>{label(name)}</span>
            <Slider
              min={0}
              max={1}
              step={0.01}
              value={moved[name] ?? 0}
              onChange={(next: number) => onMoved({ ...moved, [name]: next })}
              marks={value === null ? {} : { [value]: { label: <span className={styles.measured} /> } }}
              included={false}
              ariaLabelForHandle={label(name)}
              tooltip={{ placement: "top" }}
            />
            <span className={styles.number}>{(moved[name] ?? 0).toFixed(2)}</span>
          </div>
        );
      })}
      <p className={styles.outcome} role="status">
        {outcome}
      </p>
      {changed && (
        <Button size="small" onClick={() => onMoved(recorded)}>
          {t("debug.reset")}
        </Button>
      )}
    </div>
  );
}
