/**
 * Server-sent events over fetch: a parser that takes the stream in any pieces, and a reader that goes on after a
 * dropped connection with Last-Event-ID. (EventSource can neither POST nor be told when a stream has ended.)
 */

export interface ServerEvent {
  /** The event's own id, or null where it carries none. */
  id: string | null;
  event: string;
  data: string;
}

/** Turns decoded text, cut anywhere, into events. Comments, unknown fields and events without data are skipped. */
export class EventParser {
  #rest = "";
  #id: string | null = null;
  #event = "";
  #data: string[] = [];
  #first = true;

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    let buffer = this.#rest + text;
    if (this.#first && buffer.length > 0) {
      buffer = buffer.replace(/^\uFEFF/, "");
      this.#first = false;
    }
    for (;;) {
      const end = buffer.search(/[\r\n]/);
      // A carriage return at the very end may be the first half of CRLF: wait for what follows.
      if (end < 0 || (buffer[end] === "\r" && end === buffer.length - 1)) break;
      const line = buffer.slice(0, end);
      buffer = buffer.slice(end + (buffer.startsWith("\r\n", end) ? 2 : 1));
      const event = this.#line(line);
      if (event) events.push(event);
    }
    this.#rest = buffer;
    return events;
  }

  #line(line: string): ServerEvent | null {
    if (line === "") {
      const event = { id: this.#id, event: this.#event || "message", data: this.#data.join("\n") };
      const empty = this.#data.length === 0;
      this.#id = null;
      this.#event = "";
      this.#data = [];
      return empty ? null : event;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }
}

export class BrokenStreamError extends Error {}

export interface ReadOptions {
  /** Opens the stream; `lastEventId` is null the first time, later the id after which to go on ("0": from the start). */
  open: (lastEventId: string | null, signal: AbortSignal) => Promise<Response>;
  /** Whether an event ends the stream for good. */
  isLast: (event: ServerEvent) => boolean;
  signal: AbortSignal;
  /** Told when the connection is lost (true) and when it is there again (false). */
  onReconnecting?: (reconnecting: boolean) => void;
  /** How long nothing at all, not even a heartbeat, may arrive before the connection counts as lost. */
  silenceMs?: number;
  /** Waiting times before each new attempt; when they are used up without a single byte, the reader gives up. */
  delaysMs?: readonly number[];
}

const DELAYS = [300, 1000, 2000, 4000, 8000, 8000, 15000, 15000];

/**
 * Yields each numbered event once and in order, until one is the last. Errors of `open` that are worth another
 * attempt are network errors (TypeError); anything else it throws is passed on.
 */
export async function* readEvents(options: ReadOptions): AsyncGenerator<ServerEvent> {
  const { open, isLast, signal, onReconnecting, silenceMs = 45_000, delaysMs = DELAYS } = options;
  let seen: string | null = null;
  let attempt = 0;
  for (;;) {
    const connection = new AbortController();
    const stop = () => connection.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      signal.throwIfAborted();
      const response = await open(attempt === 0 && seen === null ? null : (seen ?? "0"), connection.signal);
      for await (const event of eventsOf(response, connection, silenceMs)) {
        if (attempt > 0) onReconnecting?.(false);
        attempt = 0;
        seen ??= "0";
        if (event === null) continue;
        if (event.id !== null) {
          if (Number(event.id) <= Number(seen)) continue;
          seen = event.id;
        }
        yield event;
        if (isLast(event)) return;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TypeError) && !(error instanceof BrokenStreamError)) throw error;
    } finally {
      signal.removeEventListener("abort", stop);
      connection.abort();
    }
    if (attempt >= delaysMs.length) throw new BrokenStreamError("the connection was lost");
    onReconnecting?.(true);
    await pause(delaysMs[attempt] ?? 0, signal);
    attempt += 1;
  }
}

/** Events of one connection; null for bytes that complete no event, so that heartbeats count as life. */
async function* eventsOf(
  response: Response,
  connection: AbortController,
  silenceMs: number,
): AsyncGenerator<ServerEvent | null> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await withTimeout(reader.read(), silenceMs, connection);
      if (done) return;
      const events = parser.push(decoder.decode(value, { stream: true }));
      if (events.length === 0) yield null;
      for (const event of events) yield event;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

async function withTimeout<T>(work: Promise<T>, ms: number, connection: AbortController): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      connection.abort();
      reject(new BrokenStreamError("nothing arrived for too long"));
    }, ms);
  });
  try {
    return await Promise.race([work, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
