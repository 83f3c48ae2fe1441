import { useMutation, useQueryClient } from "@tanstack/react-query";
import { App, Button } from "antd";
import { useTranslation } from "react-i18next";
import { type KnowledgeBase, api, dataOf } from "../api/client";
import { useErrorText } from "../app/State";

/** Has the section summaries made that documents lack, for example since a model was set up. */
export function Summaries({ kb }: { kb: KnowledgeBase }) {
  const { t } = useTranslation();
  const { message } = App.useApp();
  const errorText = useErrorText();
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: () => dataOf(api.POST("/api/v1/kbs/{kb_id}/summaries", { params: { path: { kb_id: kb.kb_id } } })),
    onSuccess: (files) => {
      message.info(files.length > 0 ? t("kbs.summarising", { count: files.length }) : t("kbs.summarised"));
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
