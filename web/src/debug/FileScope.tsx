import { useQueries } from "@tanstack/react-query";
import { Select } from "antd";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { filesQuery } from "../api/queries";
import styles from "./debug.module.css";

/** Narrows a question to some of the documents of its knowledge bases. */
export function FileScope(props: { kbs: readonly string[]; files: readonly string[]; onFiles: (files: string[]) => void }) {
  const { kbs, files, onFiles } = props;
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const found = useQueries({
    queries: kbs.map((kbId) => filesQuery(kbId, { page: 1, text, status: "completed" })),
    combine: (results) => results.flatMap((result) => result.data?.items ?? []),
  });
  return (
    <Select
      className={styles.files}
      mode="multiple"
      aria-label={t("debug.files")}
      placeholder={t("debug.allFiles")}
      value={[...files]}
      onChange={onFiles}
      filterOption={false}
      onSearch={setText}
      maxTagCount="responsive"
      options={found.map((file) => ({ value: file.file_id, label: file.name }))}
    />
  );
}
