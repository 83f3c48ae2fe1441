import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { App, Button } from "antd";
import { useCallback, useEffect, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import type { ClewFile } from "../api/client";
import { kbsQuery } from "../api/queries";
import { useErrorText } from "../app/State";
import { Deletions, UNDO_MS } from "./deletions";

const all = new WeakMap<QueryClient, Deletions>();

async function remove(fileId: string): Promise<void> {
  // `keepalive` lets it through also while the page is being closed.
  const response = await fetch(`/api/v1/files/${encodeURIComponent(fileId)}`, { method: "DELETE", keepalive: true });
  if (!response.ok && response.status !== 404) throw new Error(response.statusText);
}

/** Files that are about to be deleted, and a function that begins to delete one: it can be taken back for a while. */
export function useDeletions(): { deleted: ReadonlySet<string>; deleteFile: (file: ClewFile) => void } {
  const { t } = useTranslation();
  const { message } = App.useApp();
  const errorText = useErrorText();
  const client = useQueryClient();
  let deletions = all.get(client);
  if (!deletions) {
    deletions = new Deletions(async (fileId) => {
      try {
        await remove(fileId);
      } catch (error) {
        message.error(errorText(error));
        throw error;
      } finally {
        await client.invalidateQueries({ queryKey: ["files"] });
        void client.invalidateQueries({ queryKey: kbsQuery.queryKey });
      }
    });
    all.set(client, deletions);
  }
  const kept = deletions;
  useEffect(() => {
    const flush = () => kept.flush();
    window.addEventListener("pagehide", flush);
    return () => window.removeEventListener("pagehide", flush);
  }, [kept]);
  const deleted = useSyncExternalStore(kept.subscribe, kept.ids);
  const deleteFile = useCallback(
    (file: ClewFile) => {
      kept.add(file.file_id);
      const key = `delete-${file.file_id}`;
      message.open({
        key,
        duration: UNDO_MS / 1000,
        content: (
          <span role="status">
            {t("files.deleted", { name: file.name })}{" "}
            <Button
              type="link"
              size="small"
              onClick={() => {
                kept.undo(file.file_id);
                message.destroy(key);
              }}
            >
              {t("files.undo")}
            </Button>
          </span>
        ),
      });
    },
    [kept, message, t],
  );
  return { deleted, deleteFile };
}
