import { CloseOutlined, InboxOutlined } from "@ant-design/icons";
import { Button, Progress, Upload as AntUpload } from "antd";
import { useTranslation } from "react-i18next";
import { useErrorText } from "../app/State";
import { bytes } from "./format";
import styles from "./kbs.module.css";
import type { Upload, UploadQueue } from "./uploads";
import { useUploads } from "./useUploads";

export function UploadArea({ kbId }: { kbId: string }) {
  const { t } = useTranslation();
  const { queue, uploads } = useUploads(kbId);
  const over = uploads.some((upload) => upload.status === "known" || upload.status === "failed");
  return (
    <section className={styles.uploadArea}>
      <AntUpload.Dragger
        multiple
        showUploadList={false}
        beforeUpload={(file) => {
          queue.add(kbId, [file]);
          return false;
        }}
      >
        <p className={styles.drop}>
          <InboxOutlined aria-hidden /> {t("files.upload")}
        </p>
        <p className="quiet">{t("files.uploadHint")}</p>
      </AntUpload.Dragger>
      {uploads.length > 0 && (
        <div className={styles.uploads}>
          <ul aria-label={t("files.uploads")}>
            {uploads.map((upload) => (
              <UploadRow key={upload.key} upload={upload} queue={queue} />
            ))}
          </ul>
          {over && (
            <Button type="text" size="small" onClick={() => queue.clear(kbId)}>
              {t("files.clear")}
            </Button>
          )}
        </div>
      )}
    </section>
  );
}

function UploadRow({ upload, queue }: { upload: Upload; queue: UploadQueue }) {
  const { t, i18n } = useTranslation();
  const errorText = useErrorText();
  const { status, name, size, progress, error } = upload;
  return (
    <li className={styles.upload}>
      <span className={styles.uploadName}>{name}</span>
      <span className="quiet">{bytes(size, i18n.language)}</span>
      {status === "waiting" && <span className="quiet">{t("files.waiting")}</span>}
      {status === "uploading" && (
        <Progress
          className={styles.uploadProgress}
          percent={Math.round(progress * 100)}
          size="small"
          aria-label={`${t("files.uploading")}: ${name}`}
        />
      )}
      {status === "known" && <span className="quiet">{t("files.known")}</span>}
      {status === "failed" && (
        <span className="bad" role="alert">
          {errorText(error)}
        </span>
      )}
      <Button
        type="text"
        size="small"
        icon={<CloseOutlined aria-hidden />}
        aria-label={`${t("app.cancel")}: ${name}`}
        onClick={() => queue.remove(upload.key)}
      />
    </li>
  );
}
