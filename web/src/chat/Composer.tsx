import { PaperClipOutlined } from "@ant-design/icons";
import { Sender } from "@ant-design/x";
import { Button, type GetRef, Select } from "antd";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { KnowledgeBase, RetrievalMode } from "../api/client";
import { AttachmentList } from "./Attachments";
import styles from "./chat.module.css";
import type { AttachmentsOf } from "./useAttachments";

export interface ComposerProps {
  kbs: readonly KnowledgeBase[];
  kbIds: string[];
  onKbIds: (ids: string[]) => void;
  mode: RetrievalMode;
  onMode: (mode: RetrievalMode) => void;
  attachments: AttachmentsOf;
  running: boolean;
  /** Nothing was asked here yet. */
  fresh: boolean;
  onAsk: (question: string) => void;
  onStop: () => void;
}

/** The question and what it is asked of. */
export function Composer({ kbs, kbIds, onKbIds, mode, onMode, attachments, running, fresh, onAsk, onStop }: ComposerProps) {
  const { t } = useTranslation();
  const [question, setQuestion] = useState("");
  const picker = useRef<HTMLInputElement>(null);
  const sender = useRef<GetRef<typeof Sender>>(null);
  useEffect(() => {
    // Where a keyboard would cover the page it waits to be called.
    if (fresh && window.matchMedia("(pointer: fine)").matches) sender.current?.focus({ preventScroll: true });
  }, [fresh]);
  const ready = question.trim() !== "" && (kbIds.length > 0 || attachments.files.length > 0);
  const ask = () => {
    if (!ready || running) return;
    onAsk(question.trim());
    setQuestion("");
  };
  return (
    <div className={styles.composer}>
      <AttachmentList
        files={attachments.files}
        sending={attachments.sending}
        onRemove={attachments.remove}
        onForget={attachments.forget}
      />
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label={t("chat.attach")}
        onChange={(event) => {
          attachments.attach(event.target.files ?? []);
          event.target.value = "";
        }}
      />
      <Sender
        value={question}
        onChange={setQuestion}
        onSubmit={ask}
        onCancel={onStop}
        onPasteFile={attachments.attach}
        loading={running}
        placeholder={t("chat.placeholder")}
        autoSize={{ minRows: 1, maxRows: 8 }}
        suffix={false}
        ref={sender}
        // oxlint-disable-next-line react/no-unstable-nested-components -- a render function, not a component
        footer={(_, { components: { SendButton, LoadingButton } }) => (
          <div className={styles.composerFoot}>
            <Select
              className={styles.scope}
              mode="multiple"
              size="small"
              variant="borderless"
              aria-label={t("chat.scope")}
              placeholder={t("chat.chooseKb")}
              value={kbIds}
              onChange={onKbIds}
              maxTagCount={2}
              maxTagTextLength={16}
              maxTagPlaceholder={(rest) => `+${rest.length}`}
              suffixIcon={null}
              optionFilterProp="label"
              options={kbs.map((kb) => ({ value: kb.kb_id, label: kb.name }))}
            />
            <Select<RetrievalMode>
              size="small"
              variant="borderless"
              aria-label={t("chat.mode")}
              value={mode}
              onChange={onMode}
              popupMatchSelectWidth={false}
              options={[
                { value: "auto", label: t("chat.modeAuto") },
                { value: "single", label: t("chat.modeSingle") },
                { value: "multi", label: t("chat.modeMulti") },
              ]}
            />
            <Button
              type="text"
              size="small"
              icon={<PaperClipOutlined aria-hidden />}
              aria-label={t("chat.attach")}
              title={t("chat.attach")}
              onClick={() => picker.current?.click()}
            />
            <span className={styles.grow} />
            {running ? (
              <LoadingButton aria-label={t("chat.stop")} title={t("chat.stop")} />
            ) : (
              <SendButton aria-label={t("chat.send")} title={t("chat.send")} disabled={!ready} />
            )}
          </div>
        )}
      />
    </div>
  );
}
