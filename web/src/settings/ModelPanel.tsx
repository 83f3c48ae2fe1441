import { CheckCircleOutlined, CloseCircleOutlined } from "@ant-design/icons";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { App, Button, Input } from "antd";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { type SettingsView, api, dataOf } from "../api/client";
import { settingsQuery } from "../api/queries";
import { useErrorText } from "../app/State";
import { useTold } from "../i18n/told";
import { Control } from "./SettingsFields";
import { helpOf } from "./help";
import { type Part, missing } from "./models";
import { type Field, type Values, fieldsOf, valueAt } from "./schema";
import styles from "./settings.module.css";

/** One model: its settings, whether it works, and what is worse without it. */
export function ModelPanel({ part, view }: { part: Part; view: SettingsView }) {
  const { t } = useTranslation();
  const { told } = useTold();
  const { message } = App.useApp();
  const errorText = useErrorText();
  const queries = useQueryClient();
  const [changes, setChanges] = useState<Values>({});
  const { name } = part;
  const section = `models.${name}`;
  const valueOf = (key: string) => changes[key] ?? valueAt(view.values, `${section}.${key}`);
  const fields = fieldsOf(view.json_schema, section);
  const first = part.first(String(valueOf("kind") ?? ""));
  const shown = first.flatMap((key) => fields.find((field) => field.path === `${section}.${key}`) ?? []);
  const more = fields.filter((field) => !shown.includes(field) && !["kind", "url", "model", "api_key", "path"].includes(keyOf(field)));
  const lacking = missing(name, view.values);
  const tryable = first.includes("kind") ? valueOf("kind") !== "none" : Boolean(valueOf("url"));
  const dirty = Object.keys(changes).length > 0;
  const set = (key: string, value: unknown) => {
    test.reset();
    setChanges((before) => ({ ...before, [key]: value ?? "" }));
  };

  const save = useMutation({
    mutationFn: () => dataOf(api.PUT("/api/v1/settings/models", { body: { models: { [name]: { ...changes } } } })),
    onSuccess: (saved) => {
      setChanges({});
      queries.setQueryData(settingsQuery.queryKey, saved);
      message.success(t("settings.saved"));
    },
    onError: (error) => message.error(errorText(error)),
  });
  const test = useMutation({
    mutationFn: () => dataOf(api.POST("/api/v1/settings/models/test", { body: { part: name, settings: { ...changes } } })),
  });

  const row = (field: Field) => (
    <FieldBox
      key={field.path}
      field={field}
      value={valueOf(keyOf(field))}
      changed={keyOf(field) in changes}
      fixed={view.from_environment.includes(field.path)}
      onValue={(value) => set(keyOf(field), value)}
    />
  );
  return (
    <section id={`model-${name}`} className={styles.panel} aria-label={t(`settings.part.${name}`)}>
      <header className={styles.panelHead}>
        <h2>{t(`settings.part.${name}`)}</h2>
        {lacking && <span className={styles.tag}>{t("settings.missing")}</span>}
        <p>{t(`settings.about.${name}`)}</p>
      </header>
      <div className={styles.panelFields}>{shown.map(row)}</div>
      {more.length > 0 && first.length > 1 && (
        <details className={styles.more}>
          <summary>{t("settings.more")}</summary>
          <div className={styles.panelFields}>{more.map(row)}</div>
        </details>
      )}
      <footer className={styles.panelFoot}>
        <Button type="primary" disabled={!dirty} loading={save.isPending} onClick={() => save.mutate()}>
          {t("app.save")}
        </Button>
        <Button loading={test.isPending} disabled={!tryable} onClick={() => test.mutate()}>
          {t("settings.test")}
        </Button>
        {dirty && (
          <Button
            type="text"
            onClick={() => {
              test.reset();
              setChanges({});
            }}
          >
            {t("settings.undo")}
          </Button>
        )}
        <span role="status">
          {test.data && (
            <span className={test.data.ok ? styles.ok : "bad"}>
              {test.data.ok ? <CheckCircleOutlined aria-hidden /> : <CloseCircleOutlined aria-hidden />}{" "}
              {t(test.data.ok ? "settings.works" : "settings.fails")}{t("app.colon")}{told(test.data.detail)}
            </span>
          )}
          {test.error && <span className="bad">{errorText(test.error)}</span>}
        </span>
      </footer>
    </section>
  );
}

function keyOf(field: Field): string {
  return field.path.split(".").at(-1) ?? "";
}

interface FieldBoxProps {
  field: Field;
  value: unknown;
  changed: boolean;
  /** The environment sets it, so it cannot be changed here. */
  fixed: boolean;
  onValue: (value: unknown) => void;
}

function FieldBox({ field, value, changed, fixed, onValue }: FieldBoxProps) {
  const { t, i18n } = useTranslation();
  const id = useId();
  const name = t(`settings.field.${keyOf(field)}` as "settings.field.url", { defaultValue: keyOf(field) });
  return (
    <div className={styles.panelField} data-changed={changed}>
      <label htmlFor={id}>{name}</label>
      {field.kind === "secret" ? (
        <Input.Password
          id={id}
          autoComplete="off"
          disabled={fixed}
          // A key that is set comes as asterisks: it is never shown, only replaced.
          placeholder={t(value && !changed ? "settings.keySet" : "settings.keyNone")}
          value={changed ? String(value) : ""}
          onChange={(event) => onValue(event.target.value)}
        />
      ) : (
        <Control id={id} field={field} value={value} disabled={fixed} onValue={onValue} />
      )}
      <p>{fixed ? t("settings.fixed") : helpOf(field, i18n.language)}</p>
    </div>
  );
}
