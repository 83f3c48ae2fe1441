import { CloseOutlined, PaperClipOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { useTranslation } from "react-i18next";
import type { Attachment } from "../api/client";
import { useTold } from "../i18n/told";
import styles from "./chat.module.css";
import type { Sending } from "./useAttachments";

/** The files of this conversation: what is sent, how each will be read, and why one cannot be. */
export function AttachmentList(props: {
  files: readonly Attachment[];
  sending: readonly Sending[];
  onRemove: (fileId: string) => void;
  onForget: (key: number) => void;
}) {
  const { files, sending, onRemove, onForget } = props;
  const { t } = useTranslation();
  const { told } = useTold();
  if (files.length + sending.length === 0) return null;
  return (
    <ul className={styles.attachments} aria-label={t("chat.attachments")}>
      {files.map((file) => (
        <li key={file.file_id} data-bad={file.status === "failed" || file.status === "skipped"}>
          <PaperClipOutlined aria-hidden />
          <span className={styles.attachmentName}>{file.name}</span>
          <span className={styles.attachmentState}>
            {file.status === "processing" ? t("chat.attachment.processing") : t(`chat.attachment.${file.tier}`)}
            {file.reason && `${t("app.colon")}${told(file.reason)}`}
          </span>
          <Button
            type="text"
            size="small"
            icon={<CloseOutlined aria-hidden />}
            aria-label={`${t("chat.detach")}: ${file.name}`}
            onClick={() => onRemove(file.file_id)}
          />
        </li>
      ))}
      {sending.map(({ key, name, progress, error }) => (
        <li key={key} data-bad={error !== null}>
          <PaperClipOutlined aria-hidden />
          <span className={styles.attachmentName}>{name}</span>
          <span className={styles.attachmentState}>{error ?? `${Math.round(progress * 100)} %`}</span>
          {error !== null && (
            <Button type="text" size="small" icon={<CloseOutlined aria-hidden />} aria-label={`${t("chat.detach")}: ${name}`} onClick={() => onForget(key)} />
          )}
        </li>
      ))}
    </ul>
  );
}
