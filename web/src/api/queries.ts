/** What the page reads from the server, cached and kept fresh. */
import { QueryClient, infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { ApiError, type ClewFile, type FoundChunk, type Section, api, dataOf, isSummarising } from "./client";

export const FILES_PER_PAGE = 50;
const PASSAGES_PER_LOAD = 200;
const SECTIONS_PER_LOAD = 500;
const BLOCKS_PER_LOAD = 200;
const CONVERSATIONS_PER_LOAD = 40;

export type FileStatus = "processing" | "completed" | "failed";

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        // A server that is away is asked again until it is back; a refusal is final.
        retry: (count, error) => error instanceof ApiError && (error.status === 0 || error.status === 503) && count < 30,
        retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 5_000),
        networkMode: "always",
      },
      mutations: { networkMode: "always" },
    },
  });
}

export const kbsQuery = queryOptions({
  queryKey: ["kbs"],
  queryFn: ({ signal }) => dataOf(api.GET("/api/v1/kbs", { signal })),
});

export const kbQuery = (kbId: string) =>
  queryOptions({
    queryKey: ["kbs", kbId],
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/kbs/{kb_id}", { params: { path: { kb_id: kbId } }, signal })),
  });

export interface FileFilter {
  page: number;
  text: string;
  status: FileStatus | null;
}

export const filesQuery = (kbId: string, { page, text, status }: FileFilter) =>
  queryOptions({
    queryKey: ["files", kbId, { page, text, status }],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/v1/kbs/{kb_id}/files", {
          params: {
            path: { kb_id: kbId },
            query: { offset: (page - 1) * FILES_PER_PAGE, limit: FILES_PER_PAGE, text, ...(status && { status }) },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: (query) =>
      query.state.data?.items.some((file) => file.status === "processing")
        ? 700
        : query.state.data?.items.some(isSummarising)
          ? 2_000
          : false,
  });

const FILES_PER_CALL = 500;

/** The searchable files of a knowledge base, for how far their summaries are; looked at again while any is made. */
export const backfillQuery = (kbId: string) =>
  queryOptions({
    queryKey: ["files", kbId, "summaries"],
    queryFn: async ({ signal }) => {
      const files: ClewFile[] = [];
      for (;;) {
        const query = { status: "completed", offset: files.length, limit: FILES_PER_CALL } as const;
        const page = await dataOf(api.GET("/api/v1/kbs/{kb_id}/files", { params: { path: { kb_id: kbId }, query }, signal }));
        files.push(...page.items);
        if (page.items.length === 0 || files.length >= page.total) return files;
      }
    },
    refetchInterval: (query) => (query.state.data?.some(isSummarising) ? 1_000 : false),
  });

export const fileQuery = (fileId: string) =>
  queryOptions({
    queryKey: ["file", fileId],
    queryFn: ({ signal }) =>
      dataOf(api.GET("/api/v1/files/{file_id}", { params: { path: { file_id: fileId } }, signal })),
    refetchInterval: ({ state: { data } }) => (data && (data.status === "processing" || isSummarising(data)) ? 1_000 : false),
  });

/** What comes behind the items that are loaded; undefined where that is nothing. */
function nextOffset(last: { items: readonly unknown[]; total: number }, pages: readonly { items: readonly unknown[] }[]) {
  const loaded = pages.reduce((sum, page) => sum + page.items.length, 0);
  return last.items.length > 0 && loaded < last.total ? loaded : undefined;
}

export const passagesQuery = (fileId: string, version: number) =>
  infiniteQueryOptions({
    queryKey: ["passages", fileId, version],
    queryFn: ({ pageParam, signal }) =>
      dataOf(
        api.GET("/api/v1/files/{file_id}/chunks", {
          params: { path: { file_id: fileId }, query: { offset: pageParam, limit: PASSAGES_PER_LOAD } },
          signal,
        }),
      ),
    initialPageParam: 0,
    getNextPageParam: nextOffset,
    staleTime: Number.POSITIVE_INFINITY,
  });

export const blocksQuery = (fileId: string, version: number) =>
  infiniteQueryOptions({
    queryKey: ["blocks", fileId, version],
    queryFn: ({ pageParam, signal }) =>
      dataOf(
        api.GET("/api/v1/files/{file_id}/blocks", {
          params: { path: { file_id: fileId }, query: { offset: pageParam, limit: BLOCKS_PER_LOAD } },
          signal,
        }),
      ),
    initialPageParam: 0,
    getNextPageParam: nextOffset,
    staleTime: Number.POSITIVE_INFINITY,
  });

/** All sections of a file: the tree is shown whole. */
export const sectionsQuery = (fileId: string, version: number) =>
  queryOptions({
    queryKey: ["sections", fileId, version],
    queryFn: async ({ signal }) => {
      const sections: Section[] = [];
      for (;;) {
        const page = await dataOf(
          api.GET("/api/v1/files/{file_id}/sections", {
            params: { path: { file_id: fileId }, query: { offset: sections.length, limit: SECTIONS_PER_LOAD } },
            signal,
          }),
        );
        sections.push(...page.items);
        if (page.items.length === 0 || sections.length >= page.total) return sections;
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
  });

export const conversationsQuery = infiniteQueryOptions({
  queryKey: ["conversations"],
  queryFn: ({ pageParam, signal }) =>
    dataOf(
      api.GET("/api/v1/conversations", {
        params: { query: { offset: pageParam, limit: CONVERSATIONS_PER_LOAD } },
        signal,
      }),
    ),
  initialPageParam: 0,
  getNextPageParam: (last, pages) => (last.more ? pages.length * CONVERSATIONS_PER_LOAD : undefined),
});

export const conversationQuery = (conversationId: string) =>
  queryOptions({
    queryKey: ["conversations", conversationId],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/v1/conversations/{conversation_id}", {
          params: { path: { conversation_id: conversationId } },
          signal,
        }),
      ),
  });

export const attachmentsQuery = (conversationId: string) =>
  queryOptions({
    queryKey: ["attachments", conversationId],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/v1/conversations/{conversation_id}/attachments", {
          params: { path: { conversation_id: conversationId } },
          signal,
        }),
      ),
    refetchInterval: (query) =>
      query.state.data?.files.some((file) => file.status === "processing" || (file.tier === "index" && !file.embedded && file.status === "ready"))
        ? 1_000
        : false,
  });

export const messagesQuery = (conversationId: string) =>
  queryOptions({
    queryKey: ["messages", conversationId],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/v1/conversations/{conversation_id}/messages", {
          params: { path: { conversation_id: conversationId } },
          signal,
        }),
      ),
  });

export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: ({ signal }) => dataOf(api.GET("/api/v1/settings", { signal })),
});

export const evaluationsQuery = queryOptions({
  queryKey: ["evaluations"],
  queryFn: ({ signal }) => dataOf(api.GET("/api/v1/evaluations", { signal })),
});

export const decisionsQuery = queryOptions({
  queryKey: ["decisions"],
  queryFn: ({ signal }) => dataOf(api.GET("/api/v1/decisions", { params: { query: { limit: 500 } }, signal })),
});

const CHUNKS_PER_CALL = 100;

/** Chunks by id; those that are gone are missing. */
export const chunksQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ["chunks", ids],
    queryFn: async ({ signal }) => {
      const found: FoundChunk[] = [];
      for (let start = 0; start < ids.length; start += CHUNKS_PER_CALL) {
        const query = { id: ids.slice(start, start + CHUNKS_PER_CALL) };
        found.push(...(await dataOf(api.GET("/api/v1/chunks", { params: { query }, signal }))));
      }
      return new Map(found.map((chunk) => [chunk.chunk_id, chunk]));
    },
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
