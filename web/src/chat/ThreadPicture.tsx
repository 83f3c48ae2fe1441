import { useTranslation } from "react-i18next";
import styles from "./trace.module.css";
import type { ThreadView } from "./traceView";

const ROW = 26;
const [QUESTION_X, ROUND_X, PASSAGE_X, WIDTH] = [10, 104, 236, 640];
const LABEL_CHARACTERS = 58;

/** The way through the documents: from the question over the rounds to the passages that reached the answer. */
export function ThreadPicture({ thread }: { thread: ThreadView }) {
  const { t } = useTranslation();
  const { rounds, passages } = thread;
  const rows = Math.max(passages.length, rounds.length);
  const height = rows * ROW + 8;
  // A round stands in the middle of its passages; the thread goes down from round to round.
  const tops = spread(rounds.map((round) => middle(passages, round)), height);
  const y = (index: number) => index * ROW + ROW / 2 + 4;
  const label = [
    t("trace.rounds", { count: rounds.length }),
    ...passages.map((passage) => `${t("trace.round", { round: passage.round })} → [${passage.number}] ${passage.label}`),
  ].join("; ");
  return (
    <div className={styles.pictureFrame}>
    <svg className={styles.picture} viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={`${t("trace.picture")}: ${label}`}>
      {rounds.map((round, index) => {
        const [fromX, fromY] = index === 0 ? [QUESTION_X, height / 2] : [ROUND_X, tops[index - 1] ?? 0];
        return <path key={round} className={styles.threadLine} d={curve(fromX, fromY, ROUND_X, tops[index] ?? 0)} />;
      })}
      {passages.map((passage, index) => (
        <path
          key={passage.number}
          className={styles.passageLine}
          d={curve(ROUND_X, tops[rounds.indexOf(passage.round)] ?? height / 2, PASSAGE_X, y(index))}
        />
      ))}
      <circle className={styles.knot} cx={QUESTION_X} cy={height / 2} r={6} />
      {rounds.map((round, index) => (
        <g key={round}>
          <circle className={styles.knot} data-open cx={ROUND_X} cy={tops[index]} r={9} />
          <text className={styles.knotText} x={ROUND_X} y={tops[index]}>
            {round}
          </text>
        </g>
      ))}
      {passages.map((passage, index) => (
        <g key={passage.number}>
          <circle className={styles.bead} cx={PASSAGE_X} cy={y(index)} r={4} />
          <text className={styles.beadText} x={PASSAGE_X + 12} y={y(index)}>
            [{passage.number}] {shortened(passage.label)}
          </text>
        </g>
      ))}
    </svg>
    </div>
  );
}

function middle(passages: ThreadView["passages"], round: number): number | null {
  const places = passages.flatMap((passage, index) => (passage.round === round ? [index] : []));
  if (places.length === 0) return null;
  return (places.reduce((sum, place) => sum + place, 0) / places.length) * ROW + ROW / 2 + 4;
}

/** Heights in order and apart from each other, near to what is wished. */
function spread(wished: readonly (number | null)[], height: number): number[] {
  const tops: number[] = [];
  wished.forEach((wish, index) => {
    const least = index === 0 ? 12 : (tops[index - 1] ?? 0) + ROW;
    const most = height - 12 - (wished.length - 1 - index) * ROW;
    tops.push(Math.max(least, Math.min(wish ?? ((index + 0.5) / wished.length) * height, most)));
  });
  return tops;
}

function curve(fromX: number, fromY: number, toX: number, toY: number): string {
  const bend = (fromX + toX) / 2;
  return `M${fromX} ${fromY}C${bend} ${fromY} ${bend} ${toY} ${toX} ${toY}`;
}

function shortened(text: string): string {
  return text.length <= LABEL_CHARACTERS ? text : `${text.slice(0, LABEL_CHARACTERS - 1)}…`;
}
