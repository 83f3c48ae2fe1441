import { useId } from "react";
import { useTranslation } from "react-i18next";
import styles from "./evaluation.module.css";

export interface LineChartProps {
  label: string;
  x: readonly number[];
  /** Values from 0 to 1, one for each of `x`. */
  series: readonly { name: string; y: readonly number[] }[];
  xLabel?: string;
  /** A vertical line, for the setting in force. */
  mark?: { x: number; label: string } | undefined;
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 260, 38, 12, 14, 30];

/** Lines over a range, drawn in SVG; the same numbers stand in a table that opens below. */
export function LineChart({ label, x, series, xLabel, mark }: LineChartProps) {
  const { t } = useTranslation();
  const id = useId();
  if (x.length < 2) return null;
  const [low, high] = [x[0] ?? 0, x.at(-1) ?? 1];
  const atX = (value: number) => LEFT + ((value - low) / (high - low)) * (WIDTH - LEFT - RIGHT);
  const atY = (value: number) => TOP + (1 - value) * (HEIGHT - TOP - BOTTOM);
  const ticks = Array.from({ length: 6 }, (_, index) => low + ((high - low) * index) / 5);
  return (
    <figure className={styles.chart}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-labelledby={id}>
        <title id={id}>{label}</title>
        {[0, 0.25, 0.5, 0.75, 1].map((value) => (
          <g key={value}>
            <line className={styles.grid} x1={LEFT} x2={WIDTH - RIGHT} y1={atY(value)} y2={atY(value)} />
            <text className={styles.axis} x={LEFT - 8} y={atY(value)} textAnchor="end" dominantBaseline="central">
              {value.toFixed(2)}
            </text>
          </g>
        ))}
        {ticks.map((value) => (
          <text key={value} className={styles.axis} x={atX(value)} y={HEIGHT - 10} textAnchor="middle">
            {high > 2 ? Math.round(value) : value.toFixed(1)}
          </text>
        ))}
        {mark && (
          <g>
            <line className={styles.mark} x1={atX(mark.x)} x2={atX(mark.x)} y1={TOP} y2={HEIGHT - BOTTOM} />
            <text className={styles.markText} x={atX(mark.x)} y={TOP - 4} textAnchor={mark.x > 0.85 * high ? "end" : "middle"}>
              {mark.label} {mark.x}
            </text>
          </g>
        )}
        {series.map(({ name, y }, index) => (
          <polyline
            key={name}
            className={styles.line}
            data-line={index % 6}
            points={y.map((value, place) => `${atX(x[place] ?? low)},${atY(value)}`).join(" ")}
          />
        ))}
      </svg>
      <figcaption>
        {series.map(({ name }, index) => (
          <span key={name} className={styles.legend} data-line={index % 6}>
            {name}
          </span>
        ))}
        {xLabel && <span className="quiet">({xLabel})</span>}
      </figcaption>
      <details className={styles.numbers}>
        <summary>{t("evaluation.numbers")}</summary>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard */}
        <div className={styles.scroll} tabIndex={0} role="region" aria-label={`${t("evaluation.numbers")}: ${label}`}>
          <table className={styles.table}>
            <thead>
              <tr>
                <th scope="col">{xLabel ?? t("evaluation.threshold")}</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {x.map((value, place) => (
                <tr key={value}>
                  <th scope="row">{value}</th>
                  {series.map(({ name, y }) => (
                    <td key={name}>{(y[place] ?? 0).toFixed(3)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}
