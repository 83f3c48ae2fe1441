import { ArrowLeftOutlined, DeleteOutlined, MessageOutlined, SettingOutlined } from "@ant-design/icons";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { App, Button } from "antd";
import { useTranslation } from "react-i18next";
import { Link, useNavigate, useParams } from "react-router";
import { type KnowledgeBase, api } from "../api/client";
import { kbQuery } from "../api/queries";
import { Failure, Loading, useErrorText } from "../app/State";
import { FileList } from "./FileList";
import { SummariesButton, SummariesProgress } from "./Summaries";
import { UploadArea } from "./UploadArea";

export default function KbPage() {
  const { t } = useTranslation();
  const { kbId = "" } = useParams();
  const kb = useQuery(kbQuery(kbId));
  if (kb.error) return <Failure error={kb.error} onRetry={() => void kb.refetch()} />;
  return (
    <div className="scroll-page">
      <div className="column">
        <Link className="crumb" to="/kbs">
          <ArrowLeftOutlined aria-hidden /> {t("kbs.title")}
        </Link>
        {kb.data ? <Head kb={kb.data} /> : <Loading />}
        {kb.data && <SummariesProgress kb={kb.data} />}
        {kb.data && <UploadArea kbId={kb.data.kb_id} />}
        {kb.data && <FileList kbId={kb.data.kb_id} />}
      </div>
    </div>
  );
}

function Head({ kb }: { kb: KnowledgeBase }) {
  const { t } = useTranslation();
  const { modal, message } = App.useApp();
  const errorText = useErrorText();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const count = kb.files.completed + kb.files.processing + kb.files.failed;
  const remove = useMutation({
    mutationFn: () => api.DELETE("/api/v1/kbs/{kb_id}", { params: { path: { kb_id: kb.kb_id } } }),
    onSuccess: async () => {
      await navigate("/kbs");
      queries.removeQueries({ queryKey: kbQuery(kb.kb_id).queryKey });
      void queries.invalidateQueries({ queryKey: ["kbs"] });
    },
    onError: (error) => message.error(errorText(error)),
  });
  const askToDelete = () =>
    modal.confirm({
      title: t("kbs.deleteTitle", { name: kb.name }),
      content: t("kbs.deleteText", { count }),
      okText: t("app.delete"),
      cancelText: t("app.cancel"),
      okButtonProps: { danger: true },
      onOk: () => remove.mutateAsync().catch(() => undefined),
    });
  return (
    <header className="column-head">
      <div>
        <h1>{kb.name}</h1>
        {kb.description && <p>{kb.description}</p>}
      </div>
      <div style={{ display: "flex", gap: 8 }}>
        <Button
          icon={<MessageOutlined aria-hidden />}
          disabled={kb.files.completed === 0}
          onClick={() => {
            localStorage.setItem("clew.scope", JSON.stringify([kb.kb_id]));
            void navigate("/chat");
          }}
        >
          {t("kbs.ask")}
        </Button>
        <SummariesButton kb={kb} />
        <Link to={`/kbs/${kb.kb_id}/settings`} aria-label={t("kbs.settings")}>
          <Button type="text" icon={<SettingOutlined aria-hidden />} tabIndex={-1} aria-hidden title={t("kbs.settings")} />
        </Link>
        <Button type="text" icon={<DeleteOutlined aria-hidden />} aria-label={t("kbs.delete")} title={t("kbs.delete")} onClick={askToDelete} />
      </div>
    </header>
  );
}
