import styles from "./debug.module.css";

export interface Bar {
  name: string;
  value: number;
  /** How long the bar is, from −1 to 1; below 0 it counts against. */
  share: number;
}

export function Bars({ bars }: { bars: readonly Bar[] }) {
  return (
    <ul className={styles.bars}>
      {bars.map(({ name, value, share }) => (
        <li key={name}>
          <span>{name}</span>
          <span className={styles.bar} data-against={share < 0}>
            <span style={{ width: `${Math.min(Math.abs(share), 1) * 100}%` }} />
          </span>
          <span className={styles.number}>{value.toFixed(2)}</span>
        </li>
      ))}
    </ul>
  );
}
