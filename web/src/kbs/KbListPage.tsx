import { PlusOutlined } from "@ant-design/icons";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input, Modal } from "antd";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useNavigate } from "react-router";
import { type KnowledgeBase, api, dataOf } from "../api/client";
import { kbsQuery } from "../api/queries";
import { Empty, Failure, Loading, useErrorText } from "../app/State";
import { day } from "./format";
import styles from "./kbs.module.css";

export default function KbListPage() {
  const { t } = useTranslation();
  const kbs = useQuery(kbsQuery);
  const [creating, setCreating] = useState(false);
  const create = (
    <Button type="primary" icon={<PlusOutlined aria-hidden />} onClick={() => setCreating(true)}>
      {t("kbs.create")}
    </Button>
  );
  return (
    <div className="scroll-page">
      <div className="column">
        <header className="column-head">
          <div>
            <h1>{t("kbs.title")}</h1>
            <p>{t("kbs.intro")}</p>
          </div>
          {kbs.data && kbs.data.length > 0 && create}
        </header>
        {kbs.isPending && <Loading />}
        {kbs.error && <Failure error={kbs.error} onRetry={() => void kbs.refetch()} />}
        {kbs.data?.length === 0 && (
          <Empty title={t("kbs.empty")} text={t("kbs.emptyText")}>
            {create}
          </Empty>
        )}
        <ul className={styles.cards}>
          {kbs.data?.map((kb) => (
            <Card key={kb.kb_id} kb={kb} />
          ))}
        </ul>
      </div>
      {creating && <CreateDialog onClose={() => setCreating(false)} />}
    </div>
  );
}

function Card({ kb }: { kb: KnowledgeBase }) {
  const { t, i18n } = useTranslation();
  const { completed, processing, failed } = kb.files;
  return (
    <li className={styles.card}>
      <Link to={`/kbs/${kb.kb_id}`}>
        <h2>{kb.name}</h2>
        {kb.description && <p>{kb.description}</p>}
        <span className={styles.cardFoot}>
          <span>{t("kbs.files", { count: completed + processing + failed })}</span>
          {processing > 0 && <span>{t("kbs.processing", { count: processing })}</span>}
          {failed > 0 && <span className="bad">{t("kbs.failed", { count: failed })}</span>}
          <span>{t("kbs.created", { date: day(kb.created_at, i18n.language) })}</span>
        </span>
      </Link>
    </li>
  );
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [form] = Form.useForm<{ name: string; description?: string }>();
  const create = useMutation({
    mutationFn: ({ name, description = "" }: { name: string; description?: string }) =>
      dataOf(api.POST("/api/v1/kbs", { body: { name, description } })),
    onSuccess: async (kb) => {
      await queries.invalidateQueries({ queryKey: kbsQuery.queryKey });
      void navigate(`/kbs/${kb?.kb_id}`);
    },
    onError: (error) => form.setFields([{ name: "name", errors: [errorText(error)] }]),
  });
  return (
    <Modal
      open
      title={t("kbs.create")}
      okText={t("kbs.createOk")}
      cancelText={t("app.cancel")}
      confirmLoading={create.isPending}
      onOk={() => form.submit()}
      onCancel={onClose}
    >
      <Form form={form} layout="vertical" requiredMark={false} onFinish={(values) => create.mutate(values)}>
        <Form.Item name="name" label={t("kbs.name")} rules={[{ required: true, whitespace: true, message: t("kbs.nameMissing") }]}>
          <Input autoFocus maxLength={200} placeholder={t("kbs.namePlaceholder")} />
        </Form.Item>
        <Form.Item name="description" label={t("kbs.description")}>
          <Input.TextArea maxLength={2000} autoSize={{ minRows: 2, maxRows: 6 }} />
        </Form.Item>
      </Form>
    </Modal>
  );
}
