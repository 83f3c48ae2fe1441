/** Upload of one file with progress. (fetch cannot tell how much of a request was sent; XMLHttpRequest can.) */
import { ApiError, type Attachment, type ClewFile, unreachable } from "./client";

export interface Uploaded {
  file: ClewFile;
  /** False where the knowledge base held the same bytes already. */
  isNew: boolean;
}

type Progress = (fraction: number) => void;

export async function uploadFile(kbId: string, file: File, onProgress: Progress, signal: AbortSignal): Promise<Uploaded> {
  const { status, body } = await send("POST", `/api/v1/kbs/${encodeURIComponent(kbId)}/files`, file, onProgress, signal);
  return { file: body as ClewFile, isNew: status === 201 };
}

/** A new version under the same id. */
export async function replaceFile(fileId: string, file: File, onProgress: Progress, signal: AbortSignal): Promise<ClewFile> {
  const { body } = await send("PUT", `/api/v1/files/${encodeURIComponent(fileId)}/content`, file, onProgress, signal);
  return body as ClewFile;
}

export async function attachFile(conversationId: string, file: File, onProgress: Progress, signal: AbortSignal): Promise<Attachment> {
  const path = `/api/v1/conversations/${encodeURIComponent(conversationId)}/attachments`;
  const { body } = await send("POST", path, file, onProgress, signal);
  return body as Attachment;
}

function send(
  method: string,
  path: string,
  file: File,
  onProgress: Progress,
  signal: AbortSignal,
): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) onProgress(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      if (request.status >= 200 && request.status < 300) {
        resolve({ status: request.status, body: request.response });
      } else {
        const problem = (request.response ?? {}) as { type?: string; title?: string; detail?: string };
        reject(new ApiError(problem.type ?? "", problem.title ?? "", problem.detail ?? request.statusText, request.status));
      }
    });
    request.addEventListener("error", () => reject(unreachable()));
    request.addEventListener("abort", () => reject(new DOMException("cancelled", "AbortError")));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    const form = new FormData();
    form.append("file", file, file.name);
    request.send(form);
  });
}
