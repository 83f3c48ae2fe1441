import { CheckOutlined, CopyOutlined, DislikeFilled, DislikeOutlined, LikeFilled, LikeOutlined, ReloadOutlined } from "@ant-design/icons";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Button } from "antd";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { type Message, api } from "../api/client";
import { messagesQuery } from "../api/queries";
import styles from "./chat.module.css";

export interface AnswerActionsProps {
  text: string;
  /** The stored answer, once it is stored; it takes feedback. */
  message: Message | null;
  onAskAgain?: (() => void) | undefined;
}

/** Copy, ask again, and say whether the answer was good. */
export function AnswerActions({ text, message, onAskAgain }: AnswerActionsProps) {
  const { t } = useTranslation();
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  const copyText = t(copied ? "chat.copied" : "chat.copy");
  return (
    <div className={styles.actions}>
      <Button
        type="text"
        size="small"
        icon={copied ? <CheckOutlined aria-hidden /> : <CopyOutlined aria-hidden />}
        aria-label={copyText}
        title={copyText}
        onClick={() => void copy()}
      />
      {onAskAgain && (
        <Button type="text" size="small" icon={<ReloadOutlined aria-hidden />} aria-label={t("chat.askAgain")} title={t("chat.askAgain")} onClick={onAskAgain} />
      )}
      {message && <Feedback message={message} />}
    </div>
  );
}

function Feedback({ message }: { message: Message }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const params = { path: { conversation_id: message.conversation_id, message_id: message.message_id } };
  const path = "/api/v1/conversations/{conversation_id}/messages/{message_id}/feedback";
  const given = message.usage.feedback?.rating ?? null;
  const rate = useMutation({
    mutationFn: (rating: "up" | "down") =>
      rating === given ? api.DELETE(path, { params }) : api.PUT(path, { params, body: { rating, comment: "" } }),
    onSettled: () => queries.invalidateQueries({ queryKey: messagesQuery(message.conversation_id).queryKey }),
  });
  const icons = { up: [<LikeOutlined key="o" aria-hidden />, <LikeFilled key="f" aria-hidden />], down: [<DislikeOutlined key="o" aria-hidden />, <DislikeFilled key="f" aria-hidden />] };
  return (["up", "down"] as const).map((rating) => (
    <Button
      key={rating}
      type="text"
      size="small"
      icon={icons[rating][given === rating ? 1 : 0]}
      aria-label={t(`chat.rate.${rating}`)}
      title={t(`chat.rate.${rating}`)}
      aria-pressed={given === rating}
      onClick={() => rate.mutate(rating)}
    />
  ));
}
