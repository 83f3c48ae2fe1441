import { useMutation, useQueryClient } from "@tanstack/react-query";
import { App, Button, Input, Tag } from "antd";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { type ClewFile, type Passage, api, dataOf } from "../api/client";
import { fileQuery } from "../api/queries";
import { useErrorText } from "../app/State";
import styles from "./documents.module.css";

/** What a person may change in a passage: its text, and whether it is searched. */
export function PassageEdit({ file, parent }: { file: ClewFile; parent: Passage["parent"] }) {
  const { t } = useTranslation();
  const { message } = App.useApp();
  const errorText = useErrorText();
  const queries = useQueryClient();
  const [text, setText] = useState<string | null>(null);
  const params = { path: { file_id: file.file_id, chunk_id: parent.chunk_id } };
  const change = useMutation({
    mutationFn: (act: () => Promise<ClewFile>) => act(),
    onSuccess: (changed) => {
      setText(null);
      // The file is processed again; its new version brings the passages anew.
      queries.setQueryData(fileQuery(file.file_id).queryKey, changed);
    },
    onError: (error) => message.error(errorText(error)),
  });
  const patch = (body: { text?: string; enabled?: boolean }) =>
    change.mutate(() => dataOf(api.PATCH("/api/v1/files/{file_id}/chunks/{chunk_id}", { params, body })));
  const busy = file.status === "processing" || change.isPending;
  return (
    <div className={styles.edit}>
      {!parent.enabled && <Tag color="warning">{t("document.hidden")}</Tag>}
      {parent.edited && <Tag>{t("document.edited")}</Tag>}
      {text === null ? (
        <>
          <Button type="link" size="small" disabled={busy} onClick={() => setText(parent.text)}>
            {t("document.edit")}
          </Button>
          <Button type="link" size="small" disabled={busy} onClick={() => patch({ enabled: !parent.enabled })}>
            {t(parent.enabled ? "document.disable" : "document.enable")}
          </Button>
          {(parent.edited || !parent.enabled) && (
            <Button
              type="link"
              size="small"
              disabled={busy}
              onClick={() => change.mutate(() => dataOf(api.DELETE("/api/v1/files/{file_id}/chunks/{chunk_id}/edit", { params })))}
            >
              {t("document.reset")}
            </Button>
          )}
        </>
      ) : (
        <div className={styles.editor}>
          <Input.TextArea autoSize={{ minRows: 4, maxRows: 20 }} aria-label={t("document.edit")} value={text} onChange={(event) => setText(event.target.value)} />
          <Button type="primary" size="small" loading={busy} disabled={text.trim() === "" || text === parent.text} onClick={() => patch({ text })}>
            {t("app.save")}
          </Button>
          <Button size="small" onClick={() => setText(null)}>
            {t("app.cancel")}
          </Button>
        </div>
      )}
    </div>
  );
}
