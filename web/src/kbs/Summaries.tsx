import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { App, Button, Progress } from "antd";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { type KnowledgeBase, api, dataOf } from "../api/client";
import { backfillQuery } from "../api/queries";
import { useErrorText } from "../app/State";
import { useTold } from "../i18n/told";
import { shareOf, watched } from "./backfill";
import styles from "./kbs.module.css";

/** Has the section summaries and questions made that documents lack, for example since a model was set up. */
export function SummariesButton({ kb }: { kb: KnowledgeBase }) {
  const { t } = useTranslation();
  const { message } = App.useApp();
  const errorText = useErrorText();
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: () => dataOf(api.POST("/api/v1/kbs/{kb_id}/summaries", { params: { path: { kb_id: kb.kb_id } } })),
    onSuccess: (files) => {
      if (files.length === 0) message.info(t("kbs.summarised"));
      void queries.invalidateQueries({ queryKey: backfillQuery(kb.kb_id).queryKey });
      void queries.invalidateQueries({ queryKey: ["files", kb.kb_id] });
    },
    onError: (error) => message.error(errorText(error)),
  });
  return (
    <Button loading={make.isPending} disabled={kb.files.completed === 0} onClick={() => make.mutate()}>
      {t("kbs.summarise")}
    </Button>
  );
}

/** How far the summaries of a knowledge base are, while they are made; and which could not be. */
export function SummariesProgress({ kb }: { kb: KnowledgeBase }) {
  const { t } = useTranslation();
  const { told } = useTold();
  const { data } = useQuery(backfillQuery(kb.kb_id));
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (data) setSeen((before) => watched(before, data));
  }, [data]);
  if (!data) return null;
  const { share, done, total, failed } = shareOf(data, seen);
  if (total === 0 && failed.length === 0) return null;
  return (
    <div className={styles.backfill}>
      {total > 0 && (
        <>
          <span role="status">{t("kbs.summarising", { done, count: total })}</span>
          <Progress percent={Math.floor(share * 100)} size="small" aria-label={`${t("kbs.summarise")}: ${kb.name}`} />
        </>
      )}
      {failed.map((file) => (
        <p key={file.file_id} className={styles.reason}>
          {t("kbs.notSummarised", { name: file.name })}{t("app.colon")}{told(file.summary_reason)}
        </p>
      ))}
    </div>
  );
}
