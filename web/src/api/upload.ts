/** Upload of one file with progress. (fetch cannot tell how much of a request was sent; XMLHttpRequest can.) */
import { ApiError, type ClewFile, unreachable } from "./client";

export interface Uploaded {
  file: ClewFile;
  /** False where the knowledge base held the same bytes already. */
  isNew: boolean;
}

export function uploadFile(
  kbId: string,
  file: File,
  onProgress: (fraction: number) => void,
  signal: AbortSignal,
): Promise<Uploaded> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/api/v1/kbs/${encodeURIComponent(kbId)}/files`);
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) onProgress(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      if (request.status === 200 || request.status === 201) {
        resolve({ file: request.response as ClewFile, isNew: request.status === 201 });
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
