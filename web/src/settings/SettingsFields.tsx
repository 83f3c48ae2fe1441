import { UndoOutlined } from "@ant-design/icons";
import { Button, Collapse, Input, InputNumber, Select, Switch } from "antd";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { SettingsView } from "../api/client";
import { helpOf } from "./help";
import { type Field, type Values, fieldsOf, pathsOf, valueAt, withValue } from "./schema";
import styles from "./settings.module.css";

export interface SettingsFieldsProps {
  view: SettingsView;
  sections: readonly string[];
  /** What lies under the overlay besides the global settings: a knowledge base's own values. */
  base?: Values;
  overlay: Values;
  onOverlay: (overlay: Values) => void;
}

/** Settings by section, with their meaning; what is changed is marked and can be taken back. */
export function SettingsFields({ view, sections, base = {}, overlay, onOverlay }: SettingsFieldsProps) {
  const { t } = useTranslation();
  const changed = useMemo(() => new Set(pathsOf(overlay)), [overlay]);
  return (
    <Collapse
      size="small"
      items={sections.map((section) => {
        const fields = fieldsOf(view.json_schema, section, true);
        const count = fields.filter((field) => changed.has(field.path)).length;
        return {
          key: section,
          label: t(`settings.section.${section}` as "settings.section.retrieval", { defaultValue: section }),
          extra: count > 0 ? <span className={styles.count}>{t("settings.changed", { count })}</span> : null,
          children: fields.map((field) => {
            const inherited = valueAt(base, field.path) ?? valueAt(view.values, field.path) ?? field.default;
            return (
              <FieldRow
                key={field.path}
                field={field}
                inherited={inherited}
                value={valueAt(overlay, field.path)}
                onValue={(value) => onOverlay(withValue(overlay, field.path, value))}
              />
            );
          }),
        };
      })}
    />
  );
}

type Translate = ReturnType<typeof useTranslation>["t"];

interface FieldRowProps {
  field: Field;
  /** What holds where nothing is set here. */
  inherited: unknown;
  value: unknown;
  onValue: (value: unknown) => void;
}

function FieldRow({ field, inherited, value, onValue }: FieldRowProps) {
  const { t, i18n } = useTranslation();
  const help = helpOf(field, i18n.language);
  return (
    <div className={styles.field} data-changed={value !== undefined}>
      <div className={styles.name}>
        <code>{field.path.slice(field.path.indexOf(".") + 1)}</code>
        {help && <p>{help}</p>}
      </div>
      <div className={styles.control}>
        <Control field={field} value={value ?? inherited} onValue={onValue} />
        <span className="quiet">{t("settings.default", { value: shown(inherited, field, t) })}</span>
      </div>
      <Button
        type="text"
        size="small"
        icon={<UndoOutlined aria-hidden />}
        disabled={value === undefined}
        aria-label={`${t("settings.undo")}: ${field.path}`}
        title={t("settings.undo")}
        onClick={() => onValue(undefined)}
      />
    </div>
  );
}

export interface ControlProps {
  field: Field;
  value: unknown;
  onValue: (value: unknown) => void;
  disabled?: boolean;
  /** Of the control, for a label that names it; without one it is named by its path. */
  id?: string;
}

export function Control({ field, value, onValue, disabled = false, id }: ControlProps) {
  const { t } = useTranslation();
  const common = { disabled, ...(id === undefined ? { "aria-label": field.path } : { id }) };
  switch (field.kind) {
    case "boolean":
      return <Switch {...common} checked={value === true} onChange={onValue} />;
    case "number":
    case "integer":
      return (
        <InputNumber
          // Its buttons speak English only; the arrow keys do the same.
          controls={false}
          {...common}
          value={typeof value === "number" ? value : null}
          min={field.minimum}
          max={field.maximum}
          step={field.kind === "integer" ? 1 : (field.maximum ?? 10) <= 1 ? 0.01 : 0.1}
          precision={field.kind === "integer" ? 0 : undefined}
          onChange={(next) => onValue(next ?? undefined)}
        />
      );
    case "choice":
      return (
        <Select
          {...common}
          value={String(value)}
          popupMatchSelectWidth={false}
          options={field.choices.map((choice) => ({ value: choice, label: choiceName(choice, t) }))}
          onChange={onValue}
        />
      );
    case "list":
      return (
        <Select
          {...common}
          className={styles.list}
          mode="tags"
          value={Array.isArray(value) ? value.map(String) : []}
          open={false}
          suffixIcon={null}
          onChange={onValue}
        />
      );
    case "map":
      return <JsonInput {...common} value={value} onValue={onValue} />;
    default:
      return <Input {...common} value={String(value ?? "")} onChange={(event) => onValue(event.target.value)} />;
  }
}

/** A table of names and numbers as JSON; what is no JSON yet is kept back. */
function JsonInput({ value, onValue, ...common }: { value: unknown; onValue: (value: unknown) => void; disabled: boolean }) {
  const [text, setText] = useState<string | null>(null);
  return (
    <Input
      {...common}
      status={text === null ? "" : "error"}
      value={text ?? JSON.stringify(value ?? {})}
      onChange={(event) => {
        try {
          onValue(JSON.parse(event.target.value));
          setText(null);
        } catch {
          setText(event.target.value);
        }
      }}
    />
  );
}

function shown(value: unknown, field: Field, t: Translate): string {
  if (value === "" || value === undefined || (Array.isArray(value) && value.length === 0)) return t("settings.none");
  if (typeof value === "boolean") return t(value ? "settings.on" : "settings.off");
  if (typeof value !== "string") return JSON.stringify(value);
  return field.kind === "choice" ? choiceName(value, t) : value;
}

/** What a choice means, with the word that stands for it in clew.toml. */
function choiceName(choice: string, t: Translate): string {
  return t(`settings.choice.${choice}` as "settings.choice.auto", { defaultValue: choice });
}
