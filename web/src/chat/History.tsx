import { MoreOutlined } from "@ant-design/icons";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { App, Button, Dropdown, Input, Modal } from "antd";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useNavigate, useParams } from "react-router";
import { type Conversation, api } from "../api/client";
import { conversationsQuery } from "../api/queries";
import { useErrorText } from "../app/State";
import styles from "./history.module.css";

/** The conversations, the latest first, each with rename and delete. */
export function History() {
  const { t } = useTranslation();
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(conversationsQuery);
  const conversations = data?.pages.flatMap((page) => page.items) ?? [];
  const [renaming, setRenaming] = useState<Conversation | null>(null);
  return (
    <section className={styles.history} aria-label={t("history.title")}>
      <h2 className={styles.title}>{t("history.title")}</h2>
      {data && conversations.length === 0 && <p className={styles.empty}>{t("history.empty")}</p>}
      <ul className={styles.list}>
        {conversations.map((conversation) => (
          <Row key={conversation.conversation_id} conversation={conversation} onRename={setRenaming} />
        ))}
      </ul>
      {hasNextPage && (
        <Button type="text" size="small" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t("app.more")}
        </Button>
      )}
      {renaming && <RenameDialog conversation={renaming} onClose={() => setRenaming(null)} />}
    </section>
  );
}

function Row({ conversation, onRename }: { conversation: Conversation; onRename: (c: Conversation) => void }) {
  const { t } = useTranslation();
  const { modal, message } = App.useApp();
  const errorText = useErrorText();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { conversationId } = useParams();
  const id = conversation.conversation_id;
  const active = id === conversationId;
  const remove = useMutation({
    mutationFn: () => api.DELETE("/api/v1/conversations/{conversation_id}", { params: { path: { conversation_id: id } } }),
    onSuccess: () => {
      if (active) void navigate("/chat");
      void queries.invalidateQueries({ queryKey: ["conversations"] });
    },
    onError: (error) => message.error(errorText(error)),
  });
  const askToDelete = () =>
    modal.confirm({
      title: t("history.deleteTitle"),
      content: t("history.deleteText"),
      okText: t("app.delete"),
      cancelText: t("app.cancel"),
      okButtonProps: { danger: true },
      onOk: () => remove.mutateAsync().catch(() => undefined),
    });
  const download = (format: string, text: string) => (
    <a href={`/api/v1/conversations/${encodeURIComponent(id)}/export?format=${format}`} download>
      {text}
    </a>
  );
  return (
    <li className={styles.row} data-active={active}>
      <Link to={`/chat/${id}`} aria-current={active ? "page" : undefined} title={conversation.title}>
        {conversation.title}
      </Link>
      <Dropdown
        trigger={["click"]}
        menu={{
          items: [
            { key: "rename", label: t("history.rename"), onClick: () => onRename(conversation) },
            { key: "markdown", label: download("markdown", t("history.exportMarkdown")) },
            { key: "json", label: download("json", t("history.exportJson")) },
            { key: "delete", label: t("app.delete"), danger: true, onClick: askToDelete },
          ],
        }}
      >
        <Button
          className={styles.more}
          type="text"
          size="small"
          icon={<MoreOutlined aria-hidden />}
          aria-label={t("history.actions", { title: conversation.title })}
        />
      </Dropdown>
    </li>
  );
}

function RenameDialog({ conversation, onClose }: { conversation: Conversation; onClose: () => void }) {
  const { t } = useTranslation();
  const { message } = App.useApp();
  const errorText = useErrorText();
  const queries = useQueryClient();
  const [title, setTitle] = useState(conversation.title);
  const rename = useMutation({
    mutationFn: () =>
      api.PATCH("/api/v1/conversations/{conversation_id}", {
        params: { path: { conversation_id: conversation.conversation_id } },
        body: { title },
      }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["conversations"] });
      onClose();
    },
    onError: (error) => message.error(errorText(error)),
  });
  return (
    <Modal
      open
      title={t("history.renameTitle")}
      okText={t("app.save")}
      cancelText={t("app.cancel")}
      okButtonProps={{ disabled: title.trim() === "" }}
      confirmLoading={rename.isPending}
      onOk={() => rename.mutate()}
      onCancel={onClose}
    >
      <Input
        aria-label={t("history.renameTitle")}
        value={title}
        maxLength={200}
        autoFocus
        onChange={(event) => setTitle(event.target.value)}
        onPressEnter={() => title.trim() && rename.mutate()}
      />
    </Modal>
  );
}
