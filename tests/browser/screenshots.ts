/** Pictures of every page for docs/images, in both languages and themes; run by `make screenshots`. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { DEMO, type RunningServer, ROOT, clewCommand, demoFile, launch, openPage, problems, startServer } from "./harness";

const OUT = join(ROOT, "docs/images");
const EVAL = join(ROOT, "tests/data/small_eval");
const WORDS = {
  en: {
    locale: "en-US",
    kb: /Public documents/,
    question: "Who presides when the President of the United States is tried, and who chooses him?",
    source: "How much did the operations of the OIG cost in 2023, in total?",
    trace: /How it was found/,
    ask: "Ask about your documents",
    copy: "Copy",
    searchQuestion: "Question",
    rounds: /^Rounds/,
    blocks: "Blocks",
  },
  zh: {
    locale: "zh-CN",
    kb: /Public documents/,
    question: "股份有限公司的董事会由谁选举，董事长又由谁选举？",
    source: "设立有限责任公司，股东认缴的出资额应当在几年内缴足？",
    trace: /查找过程/,
    ask: "就您的文档提问",
    copy: "复制",
    searchQuestion: "问题",
    rounds: /^轮次/,
    blocks: "内容块",
  },
} as const;

const KB = "Public documents";

let server: RunningServer;
let browser: Browser;
const conversations: Record<string, string> = {};

async function post(path: string, body: object): Promise<Record<string, string>> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${server.url}/api/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as Record<string, string>;
}

beforeAll(async () => {
  mkdirSync(OUT, { recursive: true });
  [server, browser] = await Promise.all([startServer(), launch()]);
  // A server that runs already has the documents.
  const there = (await (await fetch(`${server.url}/api/v1/kbs`)).json()) as { kb_id: string; name: string }[];
  const found = there.find(({ name }) => name === KB);
  const kb = found ?? (await post("/kbs", { name: KB, description: "Laws and reports that everyone may read" }));
  for (const name of readdirSync(DEMO).filter((file) => !found && file !== "README.md")) {
    const form = new FormData();
    form.append("file", new Blob([demoFile(name).buffer as Uint8Array<ArrayBuffer>]), name);
    await fetch(`${server.url}/api/v1/kbs/${kb["kb_id"]}/files`, { method: "POST", body: form });
  }
  for (;;) {
    const { files } = (await (await fetch(`${server.url}/api/v1/kbs/${kb["kb_id"]}`)).json()) as { files: { processing: number } };
    if (files.processing === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  for (const language of ["en", "zh"] as const) {
    const { question, source } = WORDS[language];
    const first = await post("/chat", { question: source, kbs: [kb["kb_id"]], stream: false });
    conversations[`${language}-source`] = first["conversation_id"]!;
    const second = await post("/chat", { question, kbs: [kb["kb_id"]], stream: false });
    conversations[language] = second["conversation_id"]!;
  }
  if (server.data !== undefined) {
    const [program, ...words] = clewCommand();
    const run = (...more: string[]) => execFileSync(program!, [...words, ...more], { env: { ...process.env, ...server.env }, stdio: "ignore" });
    run("tune", "complexity", "--file", `${EVAL}.queries.jsonl`);
    run("eval", "--corpus", `${EVAL}.corpus.jsonl`, "--queries", `${EVAL}.queries.jsonl`, "--mode", "bm25,dense,single,multi,auto,oracle");
  }
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

describe.each(["en", "zh"] as const)("%s", (language) => {
  const words = WORDS[language];
  describe.each(["light", "dark"] as const)("%s", (theme) => {
    let page: Page;
    beforeAll(async () => {
      const options = { locale: words.locale, colorScheme: theme, viewport: { width: 1240, height: 800 } };
      page = await openPage(browser, server.url, options);
    });
    afterAll(async () => {
      expect(problems(page)).toEqual([]);
      await page.context().close();
    });
    const shoot = async (name: string) => {
      await page.mouse.move(620, 2);
      await page.waitForTimeout(700);
      await page.screenshot({ path: join(OUT, `${name}-${language}-${theme}.png`) });
    };

    it("chat", async () => {
      await page.goto(`${server.url}/chat/${conversations[language]}`);
      await page.getByRole("button", { name: words.trace }).click();
      await page.locator("svg[role=img]").first().waitFor();
      await page.locator("[aria-expanded=true]").first().scrollIntoViewIfNeeded();
      await page.getByRole("article").first().evaluate((element) => element.scrollIntoView({ block: "start" }));
      await shoot("chat");
    });

    it("source", async () => {
      await page.goto(`${server.url}/chat/${conversations[`${language}-source`]}`);
      await page.getByRole("article").getByRole("list").last().getByRole("button").first().click();
      await page.getByRole("complementary").locator("mark").first().waitFor();
      await shoot("source");
    });

    it("knowledge base", async () => {
      await page.goto(`${server.url}/kbs`);
      await page.getByRole("link", { name: words.kb }).waitFor();
      await shoot("knowledge-bases");
      await page.getByRole("link", { name: words.kb }).click();
      await page.getByRole("listitem").filter({ hasText: ".pdf" }).waitFor();
      await shoot("knowledge-base");
    });

    it("its settings", async () => {
      const path = new URL(page.url()).pathname;
      await page.goto(`${server.url}${path}/settings`);
      await page.getByRole("button", { name: words.rounds }).click();
      await shoot("knowledge-base-settings");
      await page.goto(`${server.url}${path}`);
    });

    it("document", async () => {
      await page.getByRole("link", { name: language === "zh" ? /公司法/ : /constitution/ }).click();
      await page.locator("article[data-chunk]").first().waitFor();
      await shoot("document");
      await page.getByText(words.blocks, { exact: true }).click();
      await page.locator("li[data-type]").first().waitFor();
      await shoot("blocks");
    });

    it("search debug", async () => {
      await page.goto(`${server.url}/debug`);
      await page.getByLabel(words.searchQuestion, { exact: true }).fill(words.question);
      await page.keyboard.press("Enter");
      await page.locator("table").first().waitFor();
      await page.locator("form").evaluate((element) => element.scrollIntoView({ block: "start" }));
      await shoot("search-debug");
      await page.locator("table").first().evaluate((element) => element.closest("section")?.scrollIntoView({ block: "start" }));
      await shoot("rankings");
    });

    it("evaluation", async () => {
      await page.goto(`${server.url}/evaluation`);
      await page.locator("svg[role=img]").first().waitFor();
      await shoot("evaluation");
    });

    it("settings", async () => {
      await page.goto(`${server.url}/settings`);
      await page.locator("section[aria-label]").first().waitFor();
      await shoot("settings");
    });
  });
});
