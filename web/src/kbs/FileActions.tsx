import { DeleteOutlined, EyeInvisibleOutlined, EyeOutlined, MoreOutlined, RollbackOutlined, StopOutlined, UploadOutlined } from "@ant-design/icons";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { App, Button, Dropdown } from "antd";
import { useRef } from "react";
import { useTranslation } from "react-i18next";
import { type ClewFile, api, dataOf } from "../api/client";
import { fileQuery, kbsQuery } from "../api/queries";
import { replaceFile } from "../api/upload";
import { useErrorText } from "../app/State";

/** What can be done to a document: a new version, restore, hide, cancel, delete. */
export function FileActions({ file, onDelete }: { file: ClewFile; onDelete: (file: ClewFile) => void }) {
  const { t } = useTranslation();
  const { message } = App.useApp();
  const errorText = useErrorText();
  const queries = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const path = { params: { path: { file_id: file.file_id } } };
  const change = useMutation({
    mutationFn: (act: () => Promise<ClewFile>) => act(),
    onSuccess: (changed) => {
      queries.setQueryData(fileQuery(file.file_id).queryKey, changed);
      void queries.invalidateQueries({ queryKey: ["files", file.kb_id] });
      void queries.invalidateQueries({ queryKey: kbsQuery.queryKey });
    },
    onError: (error) => message.error(errorText(error)),
  });
  const busy = file.status === "processing";
  const items = [
    { key: "replace", icon: <UploadOutlined aria-hidden />, label: t("files.replace"), disabled: busy },
    ...(busy ? [{ key: "cancel", icon: <StopOutlined aria-hidden />, label: t("files.cancel") }] : []),
    ...(file.status === "failed" && file.version > 0
      ? [{ key: "restore", icon: <RollbackOutlined aria-hidden />, label: t("files.restore") }]
      : []),
    {
      key: "toggle",
      icon: file.enabled ? <EyeInvisibleOutlined aria-hidden /> : <EyeOutlined aria-hidden />,
      label: t(file.enabled ? "files.disable" : "files.enable"),
      disabled: busy,
    },
    { key: "delete", icon: <DeleteOutlined aria-hidden />, label: t("files.delete"), danger: true },
  ];
  const act = (key: string) => {
    switch (key) {
      case "replace":
        input.current?.click();
        break;
      case "cancel":
        change.mutate(() => dataOf(api.POST("/api/v1/files/{file_id}/cancel", path)));
        break;
      case "restore":
        change.mutate(() => dataOf(api.POST("/api/v1/files/{file_id}/restore", path)));
        break;
      case "toggle":
        change.mutate(() => dataOf(api.PATCH("/api/v1/files/{file_id}", { ...path, body: { enabled: !file.enabled, facts: {} } })));
        break;
      case "delete":
        onDelete(file);
        break;
    }
  };
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={`${t("files.replace")}: ${file.name}`}
        onChange={(event) => {
          const chosen = event.target.files?.[0];
          event.target.value = "";
          if (chosen) change.mutate(() => replaceFile(file.file_id, chosen, () => undefined, new AbortController().signal));
        }}
      />
      <Dropdown trigger={["click"]} menu={{ items, onClick: ({ key }) => act(key) }}>
        <Button
          type="text"
          size="small"
          icon={<MoreOutlined aria-hidden />}
          loading={change.isPending}
          aria-label={t("files.actions", { name: file.name })}
        />
      </Dropdown>
    </>
  );
}
