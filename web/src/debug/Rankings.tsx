import { Button } from "antd";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import type { FoundChunk, Stage } from "../api/client";
import { useTold } from "../i18n/told";
import styles from "./debug.module.css";
import { type Cell, type Row, rowsOf } from "./ranking";

export type Chunks = ReadonlyMap<string, FoundChunk>;

const ROWS_FIRST = 12;

/** Every stage's ranking side by side: one row a passage, one column a stage. */
export function Rankings(props: { stages: readonly Stage[]; chunks: Chunks; kept: ReadonlySet<string>; label: string }) {
  const { chunks, kept, label } = props;
  const { t } = useTranslation();
  const { told } = useTold();
  // A stage that saw nothing and says nothing would only push the others out of sight.
  const stages = useMemo(() => props.stages.filter(saysSomething), [props.stages]);
  const empty = props.stages.filter((stage) => !saysSomething(stage));
  const rows = useMemo(() => rowsOf(stages), [stages]);
  const [all, setAll] = useState(false);
  const shown = all ? rows : rows.slice(0, ROWS_FIRST);
  if (rows.length === 0) return <p className="quiet">{t("debug.nothing")}</p>;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className={styles.scroll} tabIndex={0} role="region" aria-label={label}>
      <table className={styles.rankings}>
        <thead>
          <tr>
            <th scope="col">{t("debug.passage")}</th>
            {stages.map((stage, index) => (
              // oxlint-disable-next-line react/no-array-index-key -- a stage may come twice
              <th key={index} scope="col">
                {stageName(stage.name, t)}
                <small>
                  {stage.candidates_in > 0 ? `${stage.candidates_in} → ` : ""}
                  {stage.candidates_out}
                  {stage.ms > 0 && ` · ${stage.ms.toFixed(1)} ms`}
                </small>
                {stage.note && <small>{told(stage.note)}</small>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <PassageRow key={row.chunkId} row={row} chunks={chunks} kept={kept.has(row.chunkId)} />
          ))}
        </tbody>
      </table>
      {empty.length > 0 && (
        <p className="quiet">
          {t("debug.foundNothing")}{t("app.colon")}{[...new Set(empty.map((stage) => stageName(stage.name, t)))].join(t("app.comma"))}
        </p>
      )}
      {stages
        .filter((stage) => stage.text)
        .map((stage) => (
          <blockquote key={stage.name} className={styles.written}>
            <span className="quiet">{stageName(stage.name, t)}{t("app.colon")}</span> {stage.text}
          </blockquote>
        ))}
      {rows.length > ROWS_FIRST && (
        <Button size="small" type="text" onClick={() => setAll(!all)}>
          {all ? t("debug.fewer") : t("debug.allRows", { count: rows.length })}
        </Button>
      )}
    </div>
  );
}

function saysSomething({ ranking, dropped, note, text }: Stage): boolean {
  return (ranking ?? []).length + (dropped ?? []).length > 0 || note !== "" || text !== "";
}

function PassageRow({ row, chunks, kept }: { row: Row; chunks: Chunks; kept: boolean }) {
  const { t } = useTranslation();
  return (
    <tr data-kept={kept}>
      <th scope="row">
        <PassageName chunkId={row.chunkId} chunk={chunks.get(row.chunkId)} />
        {kept && <span className={styles.keptMark}>{t("debug.inContext")}</span>}
      </th>
      {row.cells.map((cell, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- a stage may come twice
        <td key={index}>{cell && <RankCell cell={cell} chunks={chunks} />}</td>
      ))}
    </tr>
  );
}

/** What a chunk is: where it stands, and its text on demand. */
export function PassageName({ chunkId, chunk }: { chunkId: string; chunk: FoundChunk | undefined }) {
  const { t } = useTranslation();
  if (!chunk) return <code className="quiet">{chunkId.slice(0, 12)}</code>;
  const place = [chunk.section_titles.at(-1), chunk.page !== null ? t("chat.page", { page: chunk.page }) : ""];
  return (
    <details className={styles.passage}>
      <summary>
        <span>{chunk.file}</span> <span className="quiet">{place.filter(Boolean).join(" · ")}</span>
      </summary>
      <p>{chunk.text}</p>
      <Link to={`/files/${chunk.file_id}`}>{t("debug.openDocument")}</Link>
    </details>
  );
}

function RankCell({ cell, chunks }: { cell: Cell; chunks: Chunks }) {
  const { t } = useTranslation();
  const { told } = useTold();
  if (cell.rank === null) {
    return <span className={styles.dropped}>{reasonText(cell.reason, chunks, told) || t("debug.dropped")}</span>;
  }
  return (
    <>
      <strong>{cell.rank}</strong> {cell.change !== null && cell.change !== 0 && <Move places={cell.change} />}
      {cell.score !== null && <small>{cell.score.toFixed(4)}</small>}
    </>
  );
}

export function Move({ places }: { places: number }) {
  const { t } = useTranslation();
  const up = places > 0;
  return (
    <span className={styles.move} data-up={up}>
      <span aria-hidden>{up ? "▲" : "▼"}</span>
      <span className="visually-hidden">{t(up ? "debug.up" : "debug.down")} </span>
      {Math.abs(places)}
    </span>
  );
}

type Translate = ReturnType<typeof useTranslation>["t"];

export function stageName(name: string, t: Translate): string {
  return t(`debug.stage.${name}` as "debug.stage.fuse", { defaultValue: name });
}

/** Why a passage went no further; another passage that it names is shown by its place. */
function reasonText(reason: string, chunks: Chunks, told: (text: string) => string): string {
  const id = reason.split(" ").at(-1) ?? "";
  const twin = chunks.get(id);
  const place = twin && [twin.file, twin.section_titles.at(-1)].filter(Boolean).join(" · ");
  return told(place ? reason.replace(id, place) : reason);
}
