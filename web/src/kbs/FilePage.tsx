import { ArrowLeftOutlined, DownloadOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { useTranslation } from "react-i18next";
import { Link, useNavigate, useParams } from "react-router";
import type { ClewFile } from "../api/client";
import { fileQuery, kbQuery } from "../api/queries";
import { Failure, Loading } from "../app/State";
import { DocumentView } from "../documents/DocumentView";
import { useTold } from "../i18n/told";
import { Changes } from "./Changes";
import { Facts } from "./Facts";
import { FileActions } from "./FileActions";
import { FileState } from "./FileList";
import { bytes } from "./format";
import styles from "./kbs.module.css";
import { useDeletions } from "./useDeletions";

export default function FilePage() {
  const { t } = useTranslation();
  const { fileId = "", ...place } = useParams();
  const file = useQuery(fileQuery(fileId));
  const kbId = place["kbId"] ?? file.data?.kb_id ?? "";
  const kb = useQuery({ ...kbQuery(kbId), enabled: kbId !== "" });
  if (file.error) return <Failure error={file.error} onRetry={() => void file.refetch()} />;
  return (
    <div className={styles.filePage}>
      <header className={styles.filePageHead}>
        <Link className="crumb" to={`/kbs/${kbId}`}>
          <ArrowLeftOutlined aria-hidden /> {kb.data?.name ?? t("kbs.title")}
        </Link>
        {file.data && <Head file={file.data} />}
      </header>
      {file.data ? <DocumentView file={file.data} citation={null} /> : <Loading />}
    </div>
  );
}

function Head({ file }: { file: ClewFile }) {
  const { t, i18n } = useTranslation();
  const { told } = useTold();
  const navigate = useNavigate();
  const { deleteFile } = useDeletions();
  const meta = [bytes(file.size, i18n.language), file.pages !== null ? t("files.pages", { count: file.pages }) : ""];
  return (
    <>
      <div className={styles.fileHead}>
        <div className={styles.fileHeadMain}>
          <h1>{file.name}</h1>
          <p className="quiet">{meta.filter(Boolean).join(" · ")}</p>
          {file.status === "failed" && <p className={styles.reason}>{told(file.reason)}</p>}
        </div>
        <FileState file={file} />
        <a href={`/api/v1/files/${encodeURIComponent(file.file_id)}/original`} download={file.name} aria-label={t("document.download")}>
          <Button type="text" icon={<DownloadOutlined aria-hidden />} tabIndex={-1} aria-hidden title={t("document.download")} />
        </a>
        <FileActions
          file={file}
          onDelete={(deleted) => {
            deleteFile(deleted);
            void navigate(`/kbs/${file.kb_id}`);
          }}
        />
      </div>
      {file.version > 0 && <Facts file={file} />}
      {file.changes && file.status === "completed" && <Changes changes={file.changes} />}
    </>
  );
}
