/** A real server on a data folder of its own, a language model that streams slowly, and Debian's Chromium over them. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, type Socket, connect, createServer as createSocket } from "node:net";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContextOptions, type Page, chromium } from "playwright-core";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PYTHON = process.env["PYTHON"] ?? join(ROOT, ".venv/bin/python");
// The embedded model is built once for all tests.
const MODELS =
  process.env["CLEW_MODELS__FOLDER"] ?? process.env["CLEW_TEST_MODELS"] ?? join(homedir(), ".cache/clew-tests/models");
const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const DEMO = join(ROOT, "demo/documents");
export const PDF = "federal-reserve-budgets-2023.pdf";
export const MARKDOWN = "constitution-of-the-united-states.md";

export function demoFile(name: string): { name: string; mimeType: string; buffer: Buffer } {
  return { name, mimeType: "application/octet-stream", buffer: readFileSync(join(DEMO, name)) };
}

/** The same bytes under another name, so that every test has files of its own. */
export function textFile(name: string, text: string): { name: string; mimeType: string; buffer: Buffer } {
  return { name, mimeType: "text/plain", buffer: Buffer.from(text, "utf8") };
}

export interface RunningServer {
  url: string;
  /** The data folder, and the environment by which commands find it; of a server that was started here. */
  data?: string;
  env?: Record<string, string>;
  stop: () => Promise<void>;
}

/** The command `clew` of the interpreter in use. */
export function clewCommand(): string[] {
  return [join(dirname(PYTHON), "clew")];
}

/** `clew serve`; with CLEW_BROWSER_FAKE set, the fake of tests/fakes instead. CLEW_BROWSER_SERVER names a server that
 * runs already, to work on single tests (`-t`) whose documents it has. */
export async function startServer(settings: Record<string, string> = {}): Promise<RunningServer> {
  const running = process.env["CLEW_BROWSER_SERVER"];
  if (running !== undefined) return { url: running, stop: async () => undefined };
  const port = await freePort();
  const data = mkdtempSync(join(tmpdir(), "clew-browser-"));
  const fake = process.env["CLEW_BROWSER_FAKE"] !== undefined;
  const [program, ...words] = fake ? [PYTHON, "-m", "fakes.serve", String(port)] : [...clewCommand(), "serve"];
  const env = {
    PYTHONPATH: [join(ROOT, "tests"), process.env["PYTHONPATH"]].filter(Boolean).join(":"),
    CLEW_MODELS__FOLDER: MODELS,
    CLEW_DATA: data,
    CLEW_SERVER__PORT: String(port),
    ...settings,
  };
  const child = spawn(program!, words, {
    cwd: data,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output: string[] = [];
  child.stdout.on("data", (piece: Buffer) => output.push(piece.toString()));
  child.stderr.on("data", (piece: Buffer) => output.push(piece.toString()));
  const url = `http://127.0.0.1:${port}`;
  await untilHealthy(url, child, output);
  return {
    url,
    data,
    env,
    stop: async () => {
      await ended(child);
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** An OpenAI-compatible endpoint that streams `text`, a word at a time, and answers with `reply` what is not streamed:
 * decisions, plans, summaries. */
export async function startModel(text: string, wordMs: number, { reply = "no", replyMs = 0 } = {}): Promise<RunningServer> {
  const server: Server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece: Buffer) => (body += piece.toString()));
    request.on("end", async () => {
      if ((JSON.parse(body) as { stream?: boolean }).stream !== true) {
        await new Promise((resolve) => setTimeout(resolve, replyMs));
        response.writeHead(200, { "Content-Type": "application/json" });
        const message = { role: "assistant", content: reply };
        response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] }));
        return;
      }
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      for (const word of text.split(/(?<= )/)) {
        if (response.destroyed) return;
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: word } }] })}\n\n`);
        await new Promise((resolve) => setTimeout(resolve, wordMs));
      }
      response.end(
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface Line extends RunningServer {
  /** Break every connection and take none until `mend`. */
  cut: () => void;
  mend: () => void;
}

/** A connection to `url` that can be cut. */
export async function startLine(url: string): Promise<Line> {
  const sockets = new Set<Socket>();
  let whole = true;
  const line = createSocket((near) => {
    if (!whole) return near.destroy();
    const far = connect(Number(new URL(url).port), "127.0.0.1");
    for (const [socket, other] of [[near, far], [far, near]] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
    return undefined;
  });
  await new Promise<void>((resolve) => line.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    whole = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(line.address() as AddressInfo).port}`,
    cut,
    mend: () => {
      whole = true;
    },
    stop: async () => {
      cut();
      await new Promise((resolve) => line.close(resolve));
    },
  };
}

export async function launch(): Promise<Browser> {
  if (!existsSync(CHROMIUM)) {
    throw new Error(`${CHROMIUM} is missing: install Chromium (Debian: apt-get install chromium) or set CHROMIUM.`);
  }
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/** A page in a fresh profile that fails the test on script errors and refused resources. */
export async function openPage(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ locale: "en-US", viewport: { width: 1360, height: 860 }, ...options });
  // Waiting costs nothing where all is well, and a busy machine is no failure.
  context.setDefaultTimeout(Number(process.env["CLEW_BROWSER_TIMEOUT"] ?? 120_000));
  const page = await context.newPage();
  page.on("pageerror", (error) => problems(page).push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource|net::ERR/.test(message.text())) {
      problems(page).push(message.text());
    }
  });
  await page.goto(url);
  return page;
}

const found = new WeakMap<Page, string[]>();

/** Script errors of the page so far. */
export function problems(page: Page): string[] {
  let list = found.get(page);
  if (!list) found.set(page, (list = []));
  return list;
}

async function untilHealthy(url: string, child: ChildProcess, output: string[]): Promise<void> {
  // The first start may have to build the embedder.
  for (let attempt = 0; attempt < 1200; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`the server ended at its start:\n${output.join("")}`);
    const healthy = await fetch(`${url}/health`).then(
      (response) => response.ok,
      () => false,
    );
    if (healthy) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill("SIGKILL");
  throw new Error(`the server does not answer:\n${output.join("")}`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const end = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const hard = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await end;
  clearTimeout(hard);
}

async function freePort(): Promise<number> {
  const socket = createSocket();
  await new Promise<void>((resolve) => socket.listen(0, "127.0.0.1", resolve));
  const { port } = socket.address() as AddressInfo;
  await new Promise((resolve) => socket.close(resolve));
  return port;
}
