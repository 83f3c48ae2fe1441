import { ArrowLeftOutlined } from "@ant-design/icons";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { App, Button } from "antd";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useParams } from "react-router";
import { type KnowledgeBase, type SettingsView, api, dataOf } from "../api/client";
import { kbQuery, kbsQuery, settingsQuery } from "../api/queries";
import { Failure, Loading, useErrorText } from "../app/State";
import { SettingsFields } from "../settings/SettingsFields";
import type { Values } from "../settings/schema";
import styles from "./kbs.module.css";

/** A knowledge base's own settings over the global ones. */
export default function KbSettingsPage() {
  const { t } = useTranslation();
  const { kbId = "" } = useParams();
  const kb = useQuery(kbQuery(kbId));
  const settings = useQuery(settingsQuery);
  const error = kb.error ?? settings.error;
  if (error) return <Failure error={error} onRetry={() => void Promise.all([kb.refetch(), settings.refetch()])} />;
  return (
    <div className="scroll-page">
      <div className="column">
        <Link className="crumb" to={`/kbs/${kbId}`}>
          <ArrowLeftOutlined aria-hidden /> {kb.data?.name ?? t("kbs.title")}
        </Link>
        <header className="column-head">
          <div>
            <h1>{t("kbs.settings")}</h1>
            <p>{t("kbs.settingsText")}</p>
          </div>
        </header>
        {kb.data && settings.data ? <Fields key={kb.data.kb_id} kb={kb.data} view={settings.data} /> : <Loading />}
      </div>
    </div>
  );
}

function Fields({ kb, view }: { kb: KnowledgeBase; view: SettingsView }) {
  const { t } = useTranslation();
  const { message } = App.useApp();
  const errorText = useErrorText();
  const queries = useQueryClient();
  const [overlay, setOverlay] = useState<Values>(kb.settings);
  const dirty = JSON.stringify(overlay) !== JSON.stringify(kb.settings);
  const save = useMutation({
    mutationFn: () =>
      dataOf(api.PATCH("/api/v1/kbs/{kb_id}", { params: { path: { kb_id: kb.kb_id } }, body: { settings: { ...overlay } } })),
    onSuccess: (saved) => {
      queries.setQueryData(kbQuery(kb.kb_id).queryKey, saved);
      setOverlay(saved.settings);
      void queries.invalidateQueries({ queryKey: kbsQuery.queryKey });
      message.success(t("kbs.settingsSaved"));
    },
    onError: (error) => message.error(errorText(error)),
  });
  return (
    <>
      <SettingsFields view={view} sections={view.kb_sections} overlay={overlay} onOverlay={setOverlay} />
      <footer className={styles.settingsFoot}>
        <Button type="primary" disabled={!dirty} loading={save.isPending} onClick={() => save.mutate()}>
          {t("app.save")}
        </Button>
        {dirty && (
          <Button type="text" onClick={() => setOverlay(kb.settings)}>
            {t("settings.undo")}
          </Button>
        )}
      </footer>
    </>
  );
}
