import { useTranslation } from "react-i18next";
import type { Trace } from "../api/client";
import { confidenceOf, sourceName } from "../chat/traceView";
import { type Chunks, Move, PassageName } from "./Rankings";
import styles from "./debug.module.css";
import { contextOf } from "./ranking";

export interface Side {
  label: string;
  trace: Trace;
}

/** Two ways of asking the same question beside each other; what differs is marked. */
export function Comparison({ left, right, chunks }: { left: Side; right: Side; chunks: Chunks }) {
  const { t } = useTranslation();
  const lines = [left, right].map((side) => factsOf(side.trace, t));
  const [before, after] = [contextOf(left.trace.stages), contextOf(right.trace.stages)];
  const ids = [...after, ...before.filter((id) => !after.includes(id))];
  return (
    <section className={styles.card} aria-label={t("debug.comparison")}>
      <header>
        <h3>{t("debug.comparison")}</h3>
      </header>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard */}
      <div className={styles.scroll} tabIndex={0} role="region" aria-label={t("debug.comparison")}>
        <table className={styles.rankings}>
          <thead>
            <tr>
              <th scope="col">{t("debug.passage")}</th>
              <th scope="col">{left.label}</th>
              <th scope="col">{right.label}</th>
            </tr>
          </thead>
          <tbody>
            {(lines[0] ?? []).map(([name, value], index) => {
              const other = lines[1]?.[index]?.[1] ?? "";
              return (
                <tr key={name} data-differs={name !== t("trace.timing") && value !== other}>
                  <th scope="row">{name}</th>
                  <td>{value}</td>
                  <td>{other}</td>
                </tr>
              );
            })}
            {ids.map((id) => {
              const [was, is] = [before.indexOf(id) + 1, after.indexOf(id) + 1];
              return (
                <tr key={id} data-differs={was !== is}>
                  <th scope="row">
                    <PassageName chunkId={id} chunk={chunks.get(id)} />
                  </th>
                  <td>{was > 0 ? <strong>{was}</strong> : <span className={styles.dropped}>{t("debug.absent")}</span>}</td>
                  <td>
                    {is > 0 ? <strong>{is}</strong> : <span className={styles.dropped}>{t("debug.absent")}</span>}{" "}
                    {was > 0 && is > 0 && was !== is && <Move places={was - is} />}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {ids.length > 0 && before.join() === after.join() && <p className="quiet">{t("debug.sameContext")}</p>}
    </section>
  );
}

type Translate = ReturnType<typeof useTranslation>["t"];

function factsOf(trace: Trace, t: Translate): [string, string][] {
  const { complexity, kind } = trace;
  const reason = trace.stop_reason;
  return [
    [
      t("trace.decision"),
      complexity
        ? `${t(`trace.${complexity.mode}`)} · ${sourceName(complexity.source, t)} ${confidenceOf(complexity).toFixed(2)}`
        : "–",
    ],
    [t("trace.kind"), kind ? t(`trace.${kind.kind}`) : "–"],
    [t("debug.rounds"), String(trace.rounds?.length ?? 0)],
    [t("trace.stop"), reason ? t(`trace.reasons.${reason}` as "trace.reasons.single", { defaultValue: reason }) : "–"],
    [t("debug.candidates"), String(trace.chunks ?? 0)],
    [t("trace.timing"), `${Math.round(trace.ms?.["total"] ?? 0)} ms`],
  ];
}
