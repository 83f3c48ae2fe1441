import type { Browser, Page } from "playwright-core";
import { type Line, type RunningServer, launch, openPage, startLine, startModel, startServer, textFile } from "./harness";

const WORDS = Array.from({ length: 120 }, (_, index) => `word${index + 1}`);

let model: RunningServer;
let server: RunningServer;
let line: Line;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  model = await startModel(`${WORDS.join(" ")} [1]`, 60);
  [server, browser] = await Promise.all([
    startServer({ CLEW_MODELS__CHAT__URL: model.url, CLEW_MODELS__CHAT__MODEL: "slow" }),
    launch(),
  ]);
  line = await startLine(server.url);
  page = await openPage(browser, `${line.url}/kbs`);
  await page.getByRole("button", { name: "New knowledge base" }).click();
  await page.getByLabel("Name").fill("Words");
  await page.getByLabel("Name").press("Enter");
  await page.locator("input[type=file]").setInputFiles([textFile("words.txt", `${WORDS.join(" ")} end.`)]);
  await page.getByRole("listitem").filter({ hasText: "words.txt" }).getByText("Ready").waitFor({ timeout: 240_000 });
});

afterAll(async () => {
  await browser?.close();
  await line?.stop();
  await server?.stop();
  await model?.stop();
});

const answer = () => page.getByRole("article", { name: "Answer" });
const text = async () => (await answer().innerText()).replace(/\s+/g, " ");

describe("a streamed answer", () => {
  beforeEach(async () => {
    await page.goto(`${line.url}/chat`);
    await page.getByPlaceholder("Ask about your documents").fill("word1 word2?");
    await page.keyboard.press("Enter");
    await answer().getByText("word3").waitFor();
  });

  it("can be stopped and keeps what was written", async () => {
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("You stopped this answer.").waitFor();
    expect(await text()).toContain("word3");
    expect(await text()).not.toContain("word120");
    await page.reload();
    await page.getByText("You stopped this answer.").waitFor();
  });

  it("goes on after a lost connection without a gap or a repetition", async () => {
    line.cut();
    await page.getByText("The connection was lost. Trying again").waitFor({ timeout: 60_000 });
    line.mend();
    await answer().getByText("word120").waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "Copy" }).waitFor();
    expect((await text()).match(/word\d+/g)?.slice(0, 120)).toEqual(WORDS);
  });

  it("is picked up again by a page that was loaded anew", async () => {
    await page.waitForURL(/\/chat\/.+/);
    await page.reload();
    await answer().getByText("word4").waitFor();
    await answer().getByText("word120").waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "Copy" }).waitFor();
    expect((await text()).match(/word\d+/g)?.slice(0, 120)).toEqual(WORDS);
  });
});

describe("a page whose server is away", () => {
  it("says so, and is there again by itself", async () => {
    await page.goto(`${line.url}/kbs`);
    await page.getByRole("link", { name: /Words/ }).waitFor();
    line.cut();
    await page.getByRole("link", { name: /Words/ }).click();
    await page.getByText(/Clew cannot be reached/).first().waitFor({ timeout: 60_000 });
    line.mend();
    await page.getByRole("listitem").filter({ hasText: "words.txt" }).waitFor({ timeout: 60_000 });
    await page.getByText(/Clew cannot be reached/).first().waitFor({ state: "detached", timeout: 60_000 });
  });
});
