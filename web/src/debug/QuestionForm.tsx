import { Button, Input, Segmented, Select, Switch } from "antd";
import { useTranslation } from "react-i18next";
import type { KnowledgeBase, QuestionKind, RetrievalMode } from "../api/client";
import { FileScope } from "./FileScope";
import styles from "./debug.module.css";

/** What is asked, of what, and how. */
export interface Asked {
  question: string;
  kbs: readonly string[];
  /** Ids of the files to read; empty for all. */
  files: readonly string[];
  mode: RetrievalMode;
  kind: QuestionKind;
}

export interface QuestionFormProps {
  asked: Asked;
  onAsked: (asked: Asked) => void;
  kbs: readonly KnowledgeBase[];
  recent: readonly string[];
  comparing: boolean;
  onComparing: (comparing: boolean) => void;
  running: boolean;
  onRun: (asked: Asked) => void;
}

export function QuestionForm(props: QuestionFormProps) {
  const { asked, onAsked, kbs, recent, comparing, onComparing, running, onRun } = props;
  const { t } = useTranslation();
  const ready = asked.question.trim() !== "" && asked.kbs.length > 0;
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) onRun(asked);
      }}
    >
      <Input.TextArea
        aria-label={t("debug.question")}
        placeholder={t("debug.question")}
        autoSize={{ minRows: 1, maxRows: 6 }}
        maxLength={8000}
        value={asked.question}
        onChange={(event) => onAsked({ ...asked, question: event.target.value })}
        onPressEnter={(event) => {
          if (event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          if (ready) onRun(asked);
        }}
      />
      <div className={styles.controls}>
        <Select
          className={styles.scope}
          mode="multiple"
          aria-label={t("chat.scope")}
          placeholder={t("chat.chooseKb")}
          value={[...asked.kbs]}
          onChange={(ids) => onAsked({ ...asked, kbs: ids, files: [] })}
          optionFilterProp="label"
          options={kbs.map((kb) => ({ value: kb.kb_id, label: kb.name }))}
        />
        <FileScope kbs={asked.kbs} files={asked.files} onFiles={(files) => onAsked({ ...asked, files })} />
        <Segmented<RetrievalMode>
          aria-label={t("chat.mode")}
          value={asked.mode}
          onChange={(mode) => onAsked({ ...asked, mode })}
          options={[
            { value: "auto", label: t("chat.modeAuto") },
            { value: "single", label: t("chat.modeSingle") },
            { value: "multi", label: t("chat.modeMulti") },
          ]}
        />
        <Segmented<QuestionKind>
          aria-label={t("trace.kind")}
          value={asked.kind}
          onChange={(kind) => onAsked({ ...asked, kind })}
          options={[
            { value: "auto", label: t("debug.kindAuto") },
            { value: "fact", label: t("trace.fact") },
            { value: "summary", label: t("trace.summary") },
          ]}
        />
      </div>
      <div className={styles.controls}>
        <Select
          className={styles.recent}
          showSearch
          aria-label={t("debug.recent")}
          placeholder={t("debug.recent")}
          notFoundContent={t("debug.noRecent")}
          value={null}
          onChange={(question: string | null) => {
            if (question === null) return;
            const next = { ...asked, question };
            onAsked(next);
            if (next.kbs.length > 0) onRun(next);
          }}
          options={recent.map((question) => ({ value: question, label: question }))}
        />
        <label className={styles.switch}>
          <Switch size="small" checked={comparing} onChange={onComparing} aria-label={t("debug.compare")} />
          {t("debug.compare")}
        </label>
        <span className={styles.grow} />
        <Button type="primary" htmlType="submit" disabled={!ready} loading={running}>
          {t("debug.run")}
        </Button>
      </div>
    </form>
  );
}
