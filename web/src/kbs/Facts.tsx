import { EditOutlined } from "@ant-design/icons";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { App, Button, Form, Input, Modal, Select, Tag } from "antd";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { type ClewFile, api, dataOf } from "../api/client";
import { fileQuery } from "../api/queries";
import { useErrorText } from "../app/State";
import styles from "./kbs.module.css";

const NAMES = ["company", "period", "date", "type"] as const;
type Name = (typeof NAMES)[number];

export function factsOf(file: ClewFile): [Name, string][] {
  return NAMES.flatMap((name) => (file.facts[name] ? [[name, String(file.facts[name])] as [Name, string]] : []));
}

type Translate = ReturnType<typeof useTranslation>["t"];

/** A fact as people read it: a type that Clew knows by a code has a name in each language. */
export function factText(name: Name, value: string, t: Translate): string {
  return name === "type" ? t(`files.facts.types.${value}` as "files.facts.types.law", { defaultValue: value }) : value;
}

/** What is known about a document, which filters and prefers it in searches; it can be corrected. */
export function Facts({ file }: { file: ClewFile }) {
  const { t } = useTranslation();
  const [editing, setEditing] = useState(false);
  const corrected = Array.isArray(file.facts["corrected"]) ? file.facts["corrected"].map(String) : [];
  return (
    <div className={styles.facts}>
      {factsOf(file).map(([name, value]) => (
        <Tag key={name} title={corrected.includes(name) ? t("files.facts.corrected") : undefined}>
          {t(`files.facts.${name}`)}{t("app.colon")}{factText(name, value, t)}
          {corrected.includes(name) && " ✓"}
        </Tag>
      ))}
      <Button type="text" size="small" icon={<EditOutlined aria-hidden />} disabled={file.status === "processing"} onClick={() => setEditing(true)}>
        {t("files.facts.edit")}
      </Button>
      {editing && <EditDialog file={file} onClose={() => setEditing(false)} />}
    </div>
  );
}

function EditDialog({ file, onClose }: { file: ClewFile; onClose: () => void }) {
  const { t } = useTranslation();
  const { message } = App.useApp();
  const errorText = useErrorText();
  const queries = useQueryClient();
  const [form] = Form.useForm<Record<Name, string>>();
  const before = Object.fromEntries(factsOf(file)) as Partial<Record<Name, string>>;
  const save = useMutation({
    mutationFn: (values: Partial<Record<Name, string>>) => {
      const changed = NAMES.filter((name) => (values[name] ?? "").trim() !== (before[name] ?? ""));
      const facts = Object.fromEntries(changed.map((name) => [name, values[name]?.trim() || null]));
      return dataOf(api.PATCH("/api/v1/files/{file_id}", { params: { path: { file_id: file.file_id } }, body: { facts } }));
    },
    onSuccess: (changed) => {
      queries.setQueryData(fileQuery(file.file_id).queryKey, changed);
      void queries.invalidateQueries({ queryKey: ["files", file.kb_id] });
      onClose();
    },
    onError: (error) => message.error(errorText(error)),
  });
  return (
    <Modal
      open
      title={t("files.facts.title")}
      okText={t("app.save")}
      cancelText={t("app.cancel")}
      confirmLoading={save.isPending}
      onOk={() => form.submit()}
      onCancel={onClose}
    >
      <p className="quiet">{t("files.facts.help")}</p>
      <Form form={form} layout="vertical" initialValues={before} onFinish={(values) => save.mutate(values)}>
        {NAMES.map((name) => (
          <Form.Item key={name} name={name} label={t(`files.facts.${name}`)}>
            {name === "type" ? <TypeChoice /> : <Input maxLength={200} />}
          </Form.Item>
        ))}
      </Form>
    </Modal>
  );
}

/** One of the types that Clew knows, by its name, or one that the document has already. */
function TypeChoice(props: { id?: string; value?: string; onChange?: (value: string | undefined) => void }) {
  const { t } = useTranslation();
  const names: string[] = Object.keys(t("files.facts.types", { returnObjects: true }));
  const values = props.value && !names.includes(props.value) ? [props.value, ...names] : names;
  return (
    <Select
      id={props.id}
      value={props.value || undefined}
      onChange={(value: string | undefined) => props.onChange?.(value ?? "")}
      allowClear
      showSearch
      optionFilterProp="label"
      options={values.map((value) => ({ value, label: factText("type", value, t) }))}
    />
  );
}
