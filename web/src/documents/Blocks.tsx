import { useInfiniteQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { useTranslation } from "react-i18next";
import type { Block, ClewFile } from "../api/client";
import { blocksQuery } from "../api/queries";
import { Empty, Failure, Loading } from "../app/State";
import styles from "./documents.module.css";

export interface BlocksProps {
  file: ClewFile;
  /** Show where a block stands in the original; null where the original has no pages to show. */
  onPlace: ((block: Block) => void) | null;
}

/** What was read in the document, piece by piece: what each piece is, and where it stands. */
export function Blocks({ file, onPlace }: BlocksProps) {
  const { t } = useTranslation();
  const query = useInfiniteQuery(blocksQuery(file.file_id, file.version));
  const { data, hasNextPage, isFetching, fetchNextPage } = query;
  if (query.error) return <Failure error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <Loading />;
  const blocks = data?.pages.flatMap((page) => page.items) ?? [];
  const total = data?.pages.at(-1)?.total ?? 0;
  if (blocks.length === 0) return <Empty title={t("document.noBlocks")} />;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className={styles.passages} tabIndex={0} role="region" aria-label={t("document.blocks")}>
      <ol className={styles.blocks}>
        {blocks.map((block) => (
          <li key={block.ordinal} data-type={block.type}>
            <BlockText block={block} onPlace={onPlace} />
          </li>
        ))}
      </ol>
      <p className={styles.blocksFoot}>
        <span className="quiet">{t("document.blocksShown", { count: blocks.length, total })}</span>
        {hasNextPage && (
          <Button loading={isFetching} onClick={() => void fetchNextPage()}>
            {t("app.more")}
          </Button>
        )}
      </p>
    </div>
  );
}

function BlockText({ block, onPlace }: { block: Block; onPlace: BlocksProps["onPlace"] }) {
  const { t } = useTranslation();
  const { type, text, page, level } = block;
  const kind = t(`document.block.${type}` as "document.block.paragraph", { defaultValue: type });
  const place = page !== null ? t("document.page", { page }) : "";
  return (
    <>
      <p className={styles.blockMeta}>
        <span className={styles.blockKind}>{level !== null ? `${kind} ${level}` : kind}</span>
        {place &&
          (onPlace ? (
            <button type="button" aria-label={t("document.showOnPage", { page })} onClick={() => onPlace(block)}>
              {place}
            </button>
          ) : (
            <span>{place}</span>
          ))}
      </p>
      {type === "table" ? <Rows text={text} label={kind} /> : <p className={styles.passageText}>{text || <span className="quiet">{t("document.noText")}</span>}</p>}
    </>
  );
}

/** A table as the parser writes it: a line a row, cells between bars. */
function Rows({ text, label }: { text: string; label: string }) {
  const rows = text.split("\n").map((line) => line.split(" | "));
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className={styles.rows} tabIndex={0} role="region" aria-label={label}>
      <table>
        <tbody>
          {rows.map((cells, row) => (
            // oxlint-disable-next-line react/no-array-index-key -- a row is its place
            <tr key={row}>
              {cells.map((cell, column) => (
                // oxlint-disable-next-line react/no-array-index-key -- a cell is its place
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
