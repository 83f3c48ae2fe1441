import { describe, expect, it, vi } from "vitest";
import { BrokenStreamError, EventParser, readEvents, type ReadOptions, type ServerEvent } from "./events";

const STREAM = 'id: 1\nevent: delta\ndata: {"text":"一"}\n\n: still here\n\nid: 2\nevent: done\ndata: {}\n\n';
const EVENTS = [
  { id: "1", event: "delta", data: '{"text":"一"}' },
  { id: "2", event: "done", data: "{}" },
];

/** A response whose body is sent piece by piece; `breakOff` ends it as a lost connection does. */
function respond(pieces: (string | Uint8Array)[], { breakOff = false, silent = false } = {}): Response {
  const encoder = new TextEncoder();
  return new Response(
    new ReadableStream({
      async start(controller) {
        for (const piece of pieces) {
          controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        if (breakOff) controller.error(new TypeError("network error"));
        else if (!silent) controller.close();
      },
    }),
  );
}

async function collect(options: Partial<ReadOptions> & Pick<ReadOptions, "open">): Promise<ServerEvent[]> {
  const events: ServerEvent[] = [];
  const reader = readEvents({
    isLast: (event) => event.event === "done",
    signal: new AbortController().signal,
    delaysMs: [1, 1, 1],
    ...options,
  });
  for await (const event of reader) events.push(event);
  return events;
}

describe("EventParser", () => {
  it("reads events wherever the text is cut", () => {
    for (let size = 1; size <= STREAM.length; size += 1) {
      const parser = new EventParser();
      const events: ServerEvent[] = [];
      for (let at = 0; at < STREAM.length; at += size) events.push(...parser.push(STREAM.slice(at, at + size)));
      expect(events).toEqual(EVENTS);
    }
  });

  it.each(["\r\n", "\r"])("takes %j as the end of a line, also cut in the middle", (end) => {
    const text = `${STREAM.replaceAll("\n", end)}:\n`;
    for (let size = 1; size < 8; size += 1) {
      const parser = new EventParser();
      const events: ServerEvent[] = [];
      for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
      expect(events).toEqual(EVENTS);
    }
  });

  it("joins lines of data, strips one space only, and skips comments and unknown fields", () => {
    const text = "\uFEFF: a comment\nretry: 10\nnonsense\ndata:  two\ndata:lines\n\n";
    expect(new EventParser().push(text)).toEqual([{ id: null, event: "message", data: " two\nlines" }]);
  });

  it("yields nothing for an event without data or without its empty line", () => {
    expect(new EventParser().push("event: delta\n\n")).toEqual([]);
    expect(new EventParser().push("event: delta\ndata: {}\n")).toEqual([]);
  });
});

describe("readEvents", () => {
  it("decodes characters whose bytes are cut apart", async () => {
    const bytes = new TextEncoder().encode(STREAM);
    const pieces = Array.from(bytes, (byte) => new Uint8Array([byte]));
    expect(await collect({ open: async () => respond(pieces) })).toEqual(EVENTS);
  });

  it("goes on after the last event seen when the connection breaks", async () => {
    const open = vi
      .fn<ReadOptions["open"]>()
      .mockResolvedValueOnce(respond([STREAM.slice(0, 48)], { breakOff: true }))
      .mockRejectedValueOnce(new TypeError("failed to fetch"))
      .mockResolvedValueOnce(respond([STREAM]));
    const onReconnecting = vi.fn();

    expect(await collect({ open, onReconnecting })).toEqual(EVENTS);
    expect(open.mock.calls.map(([id]) => id)).toEqual([null, "1", "1"]);
    expect(onReconnecting.mock.calls.map(([value]) => value)).toEqual([true, true, false]);
  });

  it("goes on from the start when the connection closes before any event", async () => {
    const open = vi
      .fn<ReadOptions["open"]>()
      .mockResolvedValueOnce(respond([]))
      .mockResolvedValueOnce(respond([STREAM]));

    expect(await collect({ open })).toEqual(EVENTS);
    expect(open.mock.calls.map(([id]) => id)).toEqual([null, "0"]);
  });

  it("drops events that come twice or late", async () => {
    const text = "id: 2\ndata: b\n\nid: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 10\nevent: done\ndata: c\n\n";
    expect((await collect({ open: async () => respond([text]) })).map((event) => event.data)).toEqual(["b", "c"]);
  });

  it("passes events of unknown names on and ends at the last one", async () => {
    const text = "id: 1\nevent: novelty\ndata: {}\n\nid: 2\nevent: done\ndata: {}\n\nid: 3\nevent: delta\ndata: x\n\n";
    expect((await collect({ open: async () => respond([text]) })).map((event) => event.event)).toEqual([
      "novelty",
      "done",
    ]);
  });

  it("takes silence for a lost connection, but not heartbeats", async () => {
    const beats = Array.from({ length: 30 }, () => ": still here\n\n");
    const open = vi
      .fn<ReadOptions["open"]>()
      .mockResolvedValueOnce(respond([...beats, STREAM.slice(0, 48)], { silent: true }))
      .mockResolvedValueOnce(respond([STREAM]));

    expect(await collect({ open, silenceMs: 40 })).toEqual(EVENTS);
    expect(open).toHaveBeenCalledTimes(2);
  });

  it("gives up after the last delay", async () => {
    const open = vi.fn<ReadOptions["open"]>().mockRejectedValue(new TypeError("failed to fetch"));

    await expect(collect({ open })).rejects.toThrow(BrokenStreamError);
    expect(open).toHaveBeenCalledTimes(4);
  });

  it("passes refusals on at once", async () => {
    const open = vi.fn<ReadOptions["open"]>().mockRejectedValue(new Error("no such knowledge base"));

    await expect(collect({ open })).rejects.toThrow("no such knowledge base");
    expect(open).toHaveBeenCalledTimes(1);
  });

  it("stops when it is aborted, also while it waits", async () => {
    const controller = new AbortController();
    const open = vi.fn<ReadOptions["open"]>().mockRejectedValue(new TypeError("failed to fetch"));
    const reading = collect({ open, signal: controller.signal, delaysMs: [60_000] });
    setTimeout(() => controller.abort(new Error("left")), 5);

    await expect(reading).rejects.toThrow("left");
  });
});
