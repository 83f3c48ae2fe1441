/** Looking after documents: what an update may end in, what was read of them, attachments, and summaries made later. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { DEMO, MARKDOWN, PDF, type RunningServer, demoFile, launch, openPage, problems, startModel, startServer, textFile } from "./harness";

let model: RunningServer;
let server: RunningServer;
let browser: Browser;
let page: Page;
let kbId: string;

beforeAll(async () => {
  model = await startModel("An answer.", 0, { reply: "A summary in a few words.", replyMs: 120 });
  [server, browser] = await Promise.all([startServer(), launch()]);
  kbId = ((await api("POST", "/kbs", { name: "Papers" })) as { kb_id: string }).kb_id;
  page = await openPage(browser, `${server.url}/kbs/${kbId}`);
  const small = textFile("tides.md", "# Tides\n\nThe tide comes in twice a day.\n");
  await page.locator("input[type=file]").first().setInputFiles([demoFile(PDF), demoFile(MARKDOWN), small]);
  for (const name of [PDF, MARKDOWN, "tides.md"]) {
    await row(name).getByText("Ready").waitFor({ timeout: 240_000 });
  }
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await model?.stop();
});

afterEach(() => expect(problems(page)).toEqual([]));

const row = (name: string) => page.getByRole("listitem").filter({ hasText: name });

async function api(method: string, path: string, body?: object): Promise<unknown> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${server.url}/api/v1${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return response.json();
}

async function choose(name: string, action: string): Promise<void> {
  await page.getByRole("button", { name: `Actions for ${name}` }).click();
  // The menu moves in; what is clicked on its way may be missed.
  await page.waitForTimeout(400);
  await page.getByRole("menuitem", { name: action }).click();
}

async function passages(name: string): Promise<string> {
  const { items } = (await api("GET", `/kbs/${kbId}/files`)) as { items: { name: string; file_id: string }[] };
  const { file_id } = items.find((file) => file.name === name)!;
  const found = (await api("GET", `/files/${file_id}/chunks`)) as { items: { parent: { text: string } }[] };
  return found.items.map(({ parent }) => parent.text).join("\n");
}

describe("an update", () => {
  it("that cannot be read leaves the previous version, which is restored", async () => {
    const damaged = textFile("tides.md", "%PDF-1.7\nthis is no PDF");
    await page.getByLabel("Upload a new version: tides.md").setInputFiles({ ...damaged, name: "tides.pdf" });
    await row("tides").getByText("Failed", { exact: true }).waitFor();
    expect(await row("tides").innerText()).toMatch(/damaged/);
    await choose("tides.pdf", "Restore the previous version");
    await row("tides.md").getByText("Ready").waitFor();
    expect(await passages("tides.md")).toContain("twice a day");
  });

  it("is cancelled, and the previous version stays", async () => {
    const long = Array.from({ length: 4000 }, (_, index) => `## Day ${index}\n\nOn day ${index} the water rose by ${index * 7} millimetres.\n`);
    await page.getByLabel("Upload a new version: tides.md").setInputFiles(textFile("tides.md", `# Tides\n\n${long.join("\n")}`));
    await row("tides.md").getByRole("progressbar").waitFor();
    await choose("tides.md", "Stop processing");
    await row("tides.md").getByText(/^(Ready|Failed)$/).waitFor();
    if ((await row("tides.md").getByText("Failed", { exact: true }).count()) > 0) await choose("tides.md", "Restore the previous version");
    await row("tides.md").getByText("Ready").waitFor();
    expect(await passages("tides.md")).toBe("The tide comes in twice a day.");
  });
});

describe("a document", () => {
  it("shows its blocks, more of them on demand", async () => {
    await page.getByRole("link", { name: MARKDOWN }).click();
    await page.getByText("Blocks", { exact: true }).click();
    const blocks = page.getByRole("region", { name: "Blocks" });
    await blocks.getByText(/^200 of \d+ shown$/).waitFor();
    expect(await blocks.getByRole("listitem").count()).toBe(200);
    await blocks.getByText("Heading 1").first().waitFor();
    await blocks.getByRole("button", { name: "Show more" }).click();
    await expect.poll(() => blocks.getByRole("listitem").count()).toBeGreaterThan(200);
    await page.goBack();
  });

  it("shows where a block of a PDF stands, marked on its page", async () => {
    await page.getByRole("link", { name: PDF }).click();
    await page.getByText("Blocks", { exact: true }).click();
    const table = page.getByRole("region", { name: "Blocks" }).locator("li[data-type=table]").first();
    await table.waitFor();
    expect(await table.locator("tr").count()).toBeGreaterThan(2);
    const button = table.getByRole("button", { name: /^Show on page/ });
    const number = /\d+/.exec(await button.innerText())![0];
    await button.click();
    const mark = page.locator(`[data-page="${number}"] mark`).first();
    await mark.waitFor();
    const box = (await mark.boundingBox())!;
    expect(box.y).toBeGreaterThan(0);
    expect(box.y).toBeLessThan(860);
    await page.goBack();
  });
});

const chat = () => page.locator("section").filter({ has: page.getByPlaceholder("Ask about your documents") }).last();
const list = () => page.getByRole("list", { name: "Attached files" });
const filesOf = (name: string, text: string) =>
  page.evaluateHandle(
    ([title, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content!], title!, { type: "text/plain" }));
      return transfer;
    },
    [name, text],
  );

describe("attachments", () => {
  it("are dropped on the chat", async () => {
    await page.goto(`${server.url}/chat`);
    await page.getByPlaceholder("Ask about your documents").waitFor();
    const dataTransfer = await filesOf("dropped.txt", "The harbour master is Ines Carvalho.");
    await chat().dispatchEvent("dragover", { dataTransfer });
    await chat().dispatchEvent("drop", { dataTransfer });
    await list().getByRole("listitem").filter({ hasText: "dropped.txt" }).getByText("read whole").waitFor();
  });

  it("are pasted into the question", async () => {
    const clipboardData = await filesOf("pasted.txt", "The harbour has 14 berths.");
    await page.getByPlaceholder("Ask about your documents").evaluate(
      (field, data) => field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })),
      clipboardData,
    );
    await list().getByRole("listitem").filter({ hasText: "pasted.txt" }).getByText("read whole").waitFor();
    await page.getByPlaceholder("Ask about your documents").fill("How many berths does the harbour have?");
    await page.keyboard.press("Enter");
    await page.getByRole("article", { name: "Answer" }).getByText("14 berths").first().waitFor();
  });
});

describe("a question that the documents do not settle", () => {
  it("ends with a notice in sight, also when it is opened again", async () => {
    await page.goto(`${server.url}/chat`);
    await page.getByRole("combobox", { name: "Retrieval" }).click();
    await page.getByTitle("Several", { exact: true }).click();
    await page.getByPlaceholder("Ask about your documents").fill("Where was the mother of the founder of Zorblatt Industries born?");
    await page.keyboard.press("Enter");
    const notice = page.getByRole("note").filter({ hasText: "several steps of reasoning" });
    await notice.waitFor();
    await page.getByRole("button", { name: "Copy" }).waitFor();
    await page.reload();
    await notice.waitFor();
    await page.getByRole("button", { name: /How it was found/ }).click();
    await page.getByText("Round 1", { exact: true }).waitFor();
  });
});

describe("models that come later", () => {
  it("are applied to the documents that are there, and the bar moves", async () => {
    await page.goto(`${server.url}/settings`);
    await page.getByRole("heading", { name: "Not set up yet, and what is worse without it" }).waitFor();
    const panel = page.getByRole("region", { name: "Language model", exact: true });
    await panel.getByLabel("Address").fill(model.url);
    await panel.getByLabel("Model").fill("later");
    await panel.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved, and in use.").waitFor();
    const backfill = page.getByRole("region", { name: "Apply to documents that are there" });
    await backfill.getByRole("button", { name: "Make summaries" }).click();
    const bar = backfill.getByRole("progressbar", { name: "Make summaries: Papers" });
    await bar.waitFor();
    const seen = new Set<number>();
    await expect
      .poll(
        async () => {
          const value = await bar.getAttribute("aria-valuenow", { timeout: 500 }).catch(() => null);
          if (value !== null) seen.add(Number(value));
          return bar.count();
        },
        { timeout: 240_000, interval: 200 },
      )
      .toBe(0);
    const between = [...seen].filter((value) => value > 0 && value < 100);
    expect(between.length).toBeGreaterThan(1);
    expect(between).toEqual(between.toSorted((one, other) => one - other));
    await page.goto(`${server.url}/kbs/${kbId}`);
    await page.getByRole("link", { name: MARKDOWN }).click();
    await page.getByText("Sections", { exact: true }).click();
    await page.getByText("A summary in a few words.").first().waitFor();
    expect(readFileSync(join(DEMO, MARKDOWN), "utf8")).not.toContain("A summary in a few words.");
  });
});
