import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { uploadFile } from "../api/upload";
import { type Upload, UploadQueue } from "./uploads";

const queues = new WeakMap<QueryClient, UploadQueue>();

export function useUploads(kbId: string): { queue: UploadQueue; uploads: readonly Upload[] } {
  const client = useQueryClient();
  let queue = queues.get(client);
  if (!queue) {
    queue = new UploadQueue(uploadFile, (storedIn) => {
      void client.invalidateQueries({ queryKey: ["files", storedIn] });
      void client.invalidateQueries({ queryKey: ["kbs"] });
    });
    queues.set(client, queue);
  }
  const items = useSyncExternalStore(queue.subscribe, queue.items);
  return { queue, uploads: items.filter((item) => item.kbId === kbId) };
}
