import { SearchOutlined } from "@ant-design/icons";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Input, Pagination, Progress, Segmented } from "antd";
import { useDeferredValue, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { type ClewFile, isSummarising } from "../api/client";
import { FILES_PER_PAGE, type FileStatus, filesQuery, kbsQuery } from "../api/queries";
import { useTold } from "../i18n/told";
import { Empty, Failure, Loading } from "../app/State";
import { factText, factsOf } from "./Facts";
import { FileActions } from "./FileActions";
import { bytes } from "./format";
import styles from "./kbs.module.css";
import { useDeletions } from "./useDeletions";

export function FileList({ kbId }: { kbId: string }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const [status, setStatus] = useState<FileStatus | null>(null);
  const [page, setPage] = useState(1);
  const { deleted, deleteFile } = useDeletions();
  const files = useQuery(filesQuery(kbId, { page, text: useDeferredValue(text), status }));
  const running = files.data?.items.filter((file) => file.status === "processing").length ?? 0;
  // Whenever a file is done, the counts of its knowledge base have changed.
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: kbsQuery.queryKey });
  }, [running, queries]);

  if (files.error) return <Failure error={files.error} onRetry={() => void files.refetch()} />;
  if (files.isPending) return <Loading />;
  const items = files.data.items.filter((file) => !deleted.has(file.file_id));
  const total = files.data.total - (files.data.items.length - items.length);
  const filtered = text !== "" || status !== null;
  if (total === 0 && !filtered) return <Empty title={t("files.empty")} text={t("files.emptyText")} />;
  return (
    <section>
      <div className={styles.filters}>
        <Input
          className={styles.search}
          prefix={<SearchOutlined aria-hidden />}
          allowClear
          aria-label={t("files.search")}
          placeholder={t("files.search")}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setPage(1);
          }}
        />
        <Segmented<FileStatus | "all">
          aria-label={t("files.statusFilter")}
          value={status ?? "all"}
          onChange={(value) => {
            setStatus(value === "all" ? null : value);
            setPage(1);
          }}
          options={[
            { value: "all", label: t("files.all") },
            ...(["completed", "processing", "failed"] as const).map((value) => ({ value, label: t(`files.status.${value}`) })),
          ]}
        />
        <span className="quiet">{t("files.total", { count: total })}</span>
      </div>
      {total === 0 && <Empty title={t("files.noMatch")} />}
      <ul className={styles.files}>
        {items.map((file) => (
          <FileRow key={file.file_id} file={file} onDelete={deleteFile} />
        ))}
      </ul>
      {total > FILES_PER_PAGE && (
        <Pagination
          align="center"
          current={page}
          pageSize={FILES_PER_PAGE}
          total={total}
          showSizeChanger={false}
          onChange={setPage}
        />
      )}
    </section>
  );
}

function FileRow({ file, onDelete }: { file: ClewFile; onDelete: (file: ClewFile) => void }) {
  const { t, i18n } = useTranslation();
  const { told } = useTold();
  const meta = [
    bytes(file.size, i18n.language),
    file.pages !== null ? t("files.pages", { count: file.pages }) : "",
    ...factsOf(file).map(([name, value]) => factText(name, value, t)),
    isSummarising(file) ? summarising(file, t) : "",
  ];
  return (
    <li className={styles.file} data-status={file.status} data-hidden={!file.enabled}>
      <div className={styles.fileMain}>
        <Link to={`/kbs/${file.kb_id}/files/${file.file_id}`}>{file.name}</Link>
        <span className="quiet">{meta.filter(Boolean).join(" · ")}</span>
        {file.status === "failed" && <span className={styles.reason}>{told(file.reason)}</span>}
      </div>
      <FileState file={file} />
      <FileActions file={file} onDelete={onDelete} />
    </li>
  );
}

function summarising({ summary_done, summary_total }: ClewFile, t: ReturnType<typeof useTranslation>["t"]): string {
  const share = summary_total > 0 ? ` ${Math.floor((summary_done / summary_total) * 100)} %` : "";
  return `${t("files.summarising")}${share}`;
}

export function FileState({ file }: { file: ClewFile }) {
  const { t } = useTranslation();
  if (file.status !== "processing") {
    return (
      <span className={styles.state} data-status={file.status}>
        {t(file.status === "completed" && !file.enabled ? "files.hidden" : `files.status.${file.status}`)}
      </span>
    );
  }
  const stage = t(`files.stage.${file.stage || "queued"}` as "files.stage.parse", { defaultValue: file.stage });
  return (
    <span className={styles.progress}>
      <span className="quiet">{stage}</span>
      <Progress percent={Math.round(file.progress * 100)} size="small" aria-label={`${file.name}: ${stage}`} />
    </span>
  );
}
