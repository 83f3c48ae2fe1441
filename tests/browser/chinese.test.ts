/** The Chinese page, with documents in Chinese, through every page and every way that things may go: nothing on it is
 * English but names, settings' paths, and what other services said. */
import type { Browser, Page } from "playwright-core";
import { type RunningServer, demoFile, launch, openPage, problems, startServer, textFile } from "./harness";

const LAW = "中华人民共和国公司法.md";
const NOWHERE = "http://127.0.0.1:9/v1";

let server: RunningServer;
let browser: Browser;
let page: Page;
let kbId: string;

beforeAll(async () => {
  const away = {
    CLEW_MODELS__ENRICHMENT__URL: NOWHERE,
    CLEW_MODELS__ENRICHMENT__MODEL: "qwen",
    CLEW_MODELS__RERANKER__KIND: "http",
    CLEW_MODELS__RERANKER__URL: NOWHERE,
    CLEW_MODELS__RERANKER__MODEL: "bge",
    CLEW_COMPLEXITY__CLASSIFIER_URL: "http://127.0.0.1:9",
    // Chunks of attachments that are searched, not read whole, beside those that are.
    CLEW_ATTACHMENTS__MAX_FILES: "2",
  };
  [server, browser] = await Promise.all([startServer(away), launch()]);
  kbId = ((await api("POST", "/kbs", { name: "法律", description: "公开的法律文本" })) as { kb_id: string }).kb_id;
  page = await openPage(browser, `${server.url}/kbs/${kbId}`, { locale: "zh-CN" });
  const damaged = textFile("损坏.pdf", "%PDF-1.7\nDAMAGED");
  const archive = { ...textFile("压缩.zip", ""), buffer: Buffer.from("504b0506000000000000000000000000000000000000", "hex") };
  await page.locator("input[type=file]").first().setInputFiles([demoFile(LAW), damaged, archive, textFile("空.txt", "")]);
  await page.getByRole("listitem").filter({ hasText: LAW }).getByText("就绪").waitFor({ timeout: 240_000 });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

afterEach(() => expect(problems(page)).toEqual([]));

async function api(method: string, path: string, body?: object): Promise<unknown> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${server.url}/api/v1${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return response.json();
}

/** Names that are the same in Chinese. */
const NAMES =
  /\b(Clew|clew|eval|tune|serve|English|Markdown|Word|PowerPoint|Excel|HTML|OpenAI|JSON|TOML|DOCX|XLSX|EPUB|qwen|multilingual|small|int8|mean|nDCG|openai|onnx|embedded|cohere|Cohere|Jina|vLLM|Text Embeddings Inference)\b/g;

/** Words on the page, and in what a screen reader says, that are English: all but code, settings' paths, addresses, and
 * what stands in brackets, which is what other services said. */
async function english(): Promise<string[]> {
  await page.waitForTimeout(400);
  const texts = await page.evaluate(() => {
    const found: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      const shown = element && !element.closest("script, style, code, details:not([open]) > :not(summary)") && element.checkVisibility();
      if (shown) found.push((walker.currentNode as Text).data);
    }
    for (const name of ["aria-label", "title", "placeholder", "alt"]) {
      for (const element of document.querySelectorAll(`[${name}]`)) {
        // antd's own icons, in buttons that have names.
        if (!element.matches(".anticon, [aria-hidden=true] *")) found.push(element.getAttribute(name) ?? "");
      }
    }
    return found;
  });
  return [...new Set(texts)].filter((text) => {
    const words = text
      .replace(/（[^）]*）|\([^)]*\)/g, "")
      .replace(/\S*[./_][\w./:]*/g, "")
      .replace(NAMES, "");
    return /[A-Za-z]{4,}|[A-Za-z]{2,} [A-Za-z]{2,}/.test(words);
  });
}

const ask = async (question: string, mode?: string) => {
  await page.goto(`${server.url}/chat`);
  if (mode) {
    await page.getByRole("combobox", { name: "检索方式" }).click();
    await page.getByTitle(mode, { exact: true }).click();
  }
  await page.getByPlaceholder("就您的文档提问").fill(question);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "复制" }).waitFor();
  await page.getByRole("button", { name: /查找过程/ }).click();
  await page.getByText("第 1 轮", { exact: true }).waitFor();
};

describe("on the Chinese page nothing is English", () => {
  it("in a list of documents, also of those that cannot be read", async () => {
    // The filter has the word too.
    await expect.poll(() => page.getByText("失败", { exact: true }).count(), { timeout: 60_000 }).toBe(4);
    expect(await page.getByRole("listitem").filter({ hasText: "压缩.zip" }).innerText()).toContain("请解压后添加其中的文件");
    expect(await english()).toEqual([]);
  });

  it("in a document: blocks, passages, sections", async () => {
    await page.getByRole("link", { name: LAW }).click();
    await page.locator("article[data-chunk]").first().waitFor();
    expect(await english()).toEqual([]);
    for (const tab of ["内容块", "章节"]) {
      await page.getByText(tab, { exact: true }).click();
      await page.getByText(/第一章/).first().waitFor();
      expect(await english()).toEqual([]);
    }
  });

  it("in an answer with its trace, while models are away", async () => {
    await ask("设立有限责任公司，股东认缴的出资额应当在几年内缴足？");
    await page.getByText(/未启用/).waitFor();
    expect(await english()).toEqual([]);
  });

  it("in rounds, and in search debug with every stage", async () => {
    await ask("股份有限公司的董事会由谁选举，董事长又由谁选举？", "多次检索");
    expect(await english()).toEqual([]);
    await page.getByRole("link", { name: "在检索调试中打开" }).click();
    await page.getByRole("columnheader", { name: /重排/ }).waitFor();
    for (const button of await page.getByRole("button", { name: /^显示全部/ }).all()) await button.click();
    expect(await english()).toEqual([]);
  });

  it("in a summary's trace", async () => {
    await ask("总结第三章的主要内容");
    expect(await english()).toEqual([]);
    await page.getByRole("link", { name: "在检索调试中打开" }).click();
    await page.getByRole("region", { name: "判断" }).waitFor();
    expect(await english()).toEqual([]);
  });

  it("beside attachments that are not read", async () => {
    await page.goto(`${server.url}/chat`);
    const files = [textFile("甲.txt", "甲方是张三。"), textFile("坏.pdf", "%PDF-1.7"), textFile("丙.txt", "丙方是李四。")];
    await page.locator("input[type=file]").setInputFiles(files);
    const list = page.getByRole("list", { name: "附件" });
    await list.getByText(/已跳过/).waitFor();
    await list.getByText(/无法读取：/).waitFor();
    expect(await english()).toEqual([]);
  });

  it("in settings and what a model said when it was tried", async () => {
    await page.goto(`${server.url}/settings`);
    const panel = page.getByRole("region", { name: "小型语言模型" });
    await panel.getByRole("button", { name: "测试" }).click();
    await panel.getByText(/不可用：/).waitFor();
    expect(await english()).toEqual([]);
    await page.goto(`${server.url}/kbs/${kbId}/settings`);
    for (const heading of await page.locator(".ant-collapse-header").all()) await heading.click();
    expect(await english()).toEqual([]);
  });

  it("in evaluation, errors, and an address that leads nowhere", async () => {
    await page.goto(`${server.url}/evaluation`);
    await page.getByRole("region", { name: "已提的问题" }).waitFor();
    expect(await english()).toEqual([]);
    await page.goto(`${server.url}/nowhere`);
    await page.getByRole("heading").first().waitFor();
    expect(await english()).toEqual([]);
    await page.goto(`${server.url}/kbs`);
    await page.getByRole("button", { name: "新建知识库" }).click();
    await page.getByLabel("名称").fill("法律");
    await page.getByLabel("名称").press("Enter");
    await page.getByText("已有名为 '法律' 的知识库；请换一个名称").waitFor();
    expect(await english()).toEqual([]);
    await page.goto(`${server.url}/kbs/000`);
    await page.getByRole("alert").getByRole("heading", { name: "找不到" }).waitFor();
    expect(await english()).toEqual([]);
  });
});
