import { readFileSync } from "node:fs";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { MARKDOWN, PDF, type RunningServer, demoFile, launch, openPage, problems, startServer, textFile } from "./harness";

const QUESTION = "What were the total expenses for OIG operations in 2023?";

let server: RunningServer;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  [server, browser] = await Promise.all([startServer(), launch()]);
  page = await openPage(browser, server.url);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

afterEach(() => expect(problems(page)).toEqual([]));

/** Ids of the conversations, the latest first. */
async function conversations(): Promise<string[]> {
  const page = (await (await fetch(`${server.url}/api/v1/conversations`)).json()) as { items: { conversation_id: string }[] };
  return page.items.map((item) => item.conversation_id);
}

/** The first citation of the conversation shown that lies in the PDF. */
async function citation(): Promise<{ quote: string }> {
  const id = page.url().split("/").at(-1);
  const messages = (await (await fetch(`${server.url}/api/v1/conversations/${id}/messages`)).json()) as {
    content: string;
    usage: { citations: { number: number; file_name: string; quote: string }[] };
  }[];
  const { content, usage } = messages[1]!;
  const cited = [...content.matchAll(/\[(\d+)\]/g)].map((match) => Number(match[1]));
  return cited.flatMap((number) => usage.citations.filter((one) => one.number === number)).find((one) => one.file_name === PDF)!;
}

/** Until nothing moves any more: what meets a dialog on its way in clicks beside its buttons, and sees too little contrast. */
async function settled(on: Page = page): Promise<void> {
  // A motion begins some frames after its element is there.
  await on.waitForTimeout(300);
  await on.evaluate(async () => {
    const moving = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().iterations !== Infinity);
    await Promise.allSettled(moving.map(({ finished }) => finished));
  });
}

async function seriousIssues(on: Page): Promise<string[]> {
  await settled(on);
  await on.evaluate(axe.source);
  return on.evaluate(async () => {
    const { violations, passes } = await (window as unknown as { axe: typeof import("axe-core") }).axe.run();
    if (passes.length < 10) return ["axe saw hardly anything of the page"];
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
  });
}

describe("documents", () => {
  it("a new person is led to create a knowledge base", async () => {
    await page.getByText("There are no documents yet").waitFor();
    await page.getByRole("link", { name: "Create a knowledge base" }).click();
    await page.getByRole("button", { name: "New knowledge base" }).click();
    await settled();
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    await page.getByText("Give it a name.").waitFor();
    await page.getByLabel("Name").fill("Public documents");
    await page.getByLabel("Name").press("Enter");
    await page.getByRole("heading", { name: "Public documents" }).waitFor();
    await page.getByText("No documents yet").waitFor();
  });

  it("a name that is taken is refused beside the field", async () => {
    await page.goto(`${server.url}/kbs`);
    await page.getByRole("button", { name: "New knowledge base" }).click();
    await settled();
    await page.getByLabel("Name").fill("Public documents");
    await page.getByLabel("Name").press("Enter");
    await page.getByRole("dialog").getByText(/already|exists/i).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("link", { name: /Public documents/ }).click();
  });

  it("several files are uploaded at once, with progress; a damaged one says why", async () => {
    const damaged = { ...textFile("damaged.pdf", "%PDF-1.7\nthis is no PDF DAMAGED") };
    await page.locator("input[type=file]").first().setInputFiles([demoFile(PDF), demoFile(MARKDOWN), damaged]);
    await page.getByRole("progressbar").first().waitFor();
    const failed = page.getByRole("listitem").filter({ hasText: "damaged.pdf" });
    await failed.getByText("Failed", { exact: true }).waitFor({ timeout: 240_000 });
    expect(await failed.innerText()).toMatch(/damaged|cannot be (read|opened)|not a PDF/i);
    for (const name of [PDF, MARKDOWN]) {
      await page.getByRole("listitem").filter({ hasText: name }).getByText("Ready").waitFor({ timeout: 240_000 });
    }
  });

  it("the same bytes again are said to be here already", async () => {
    await page.locator("input[type=file]").first().setInputFiles([demoFile(PDF)]);
    await page.getByText("This file is here already.").waitFor();
    await page.getByRole("button", { name: "Clear the list" }).click();
    expect(await page.getByText("This file is here already.").count()).toBe(0);
  });

  it("the list is filtered by name and status", async () => {
    await page.getByLabel("Search by name, company or period").fill("constitution");
    await page.getByText("1 document", { exact: true }).waitFor();
    await page.getByLabel("Search by name, company or period").fill("");
    await page.getByText("Failed", { exact: true }).first().click();
    await page.getByText("1 document", { exact: true }).waitFor();
    await page.getByText("All", { exact: true }).click();
    await page.getByText("3 documents", { exact: true }).waitFor();
  });

  it("a document shows its pages, passages and sections", async () => {
    await page.getByRole("link", { name: PDF }).click();
    await page.locator('[data-page="1"][data-drawn="true"]').waitFor();
    await page.getByText("Page 1 of 22").waitFor();
    expect(await page.locator('[data-page="1"] span').first().innerText()).not.toBe("");
    await page.getByText("Passages", { exact: true }).click();
    await page.locator("article[data-chunk]").first().waitFor();
    expect(await seriousIssues(page)).toEqual([]);
    await page.getByText("Sections", { exact: true }).click();
    await page.getByRole("main").getByRole("listitem").getByRole("button").first().click();
    await page.locator("article[data-chunk]").first().waitFor();
    await page.goBack();
    expect(await seriousIssues(page)).toEqual([]);
  });
});

describe("chat", () => {
  it("a question is answered in a stream, with the trace closed and its summary on one line", async () => {
    await page.goto(`${server.url}/kbs`);
    await page.getByRole("link", { name: /Public documents/ }).click();
    await page.getByRole("button", { name: "Ask this knowledge base" }).click();
    await page.getByPlaceholder("Ask about your documents").fill(QUESTION);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/chat\/.+/);
    await page.getByRole("button", { name: /^Citation 1/ }).first().waitFor();
    const trace = page.getByRole("button", { name: /How it was found/ });
    await page.getByRole("button", { name: "Copy" }).waitFor();
    expect(await trace.getAttribute("aria-expanded")).toBe("false");
    expect(await trace.innerText()).toMatch(/(single|multi) · .+ · \d+ rounds? · \d+ passages? · [\d.]+ s/);
    await trace.click();
    await page.getByText("Round 1").waitFor();
    expect(await seriousIssues(page)).toEqual([]);
    await trace.click();
    expect(await page.getByText("Round 1").count()).toBe(0);
  });

  it("a citation opens the PDF at its page with the passage marked", async () => {
    const sources = page.getByRole("list", { name: "Sources" });
    await sources.getByRole("button", { name: new RegExp(PDF) }).first().click();
    const panel = page.getByRole("complementary", { name: "Source" });
    const place = await panel.getByText(/^Page \d+( ·|$)/).first().innerText();
    const number = /Page (\d+)/.exec(place)?.[1];
    const shown = panel.locator(`[data-page="${number}"]`);
    await panel.locator(`[data-page="${number}"][data-drawn="true"]`).waitFor();
    const mark = shown.locator("mark").first();
    await mark.waitFor();
    const [box, frame] = [await mark.boundingBox(), await panel.boundingBox()];
    expect(box!.y).toBeGreaterThanOrEqual(frame!.y);
    expect(box!.y).toBeLessThan(frame!.y + frame!.height);

    // What lies under the marks is what the answer quotes.
    const under = await shown.evaluate((element) => {
      const marks = [...element.querySelectorAll("mark")].map((one) => one.getBoundingClientRect());
      const touches = ({ left, right, top, height }: DOMRect) =>
        marks.some((m) => left < m.right && right > m.left && top + height / 2 > m.top && top + height / 2 < m.bottom);
      const spans = [...element.querySelectorAll("span")].filter((one) => touches(one.getBoundingClientRect()));
      return spans.map((one) => one.textContent).join(" ");
    });
    const quoted = (await citation()).quote.match(/[A-Za-z]{4,}/g) ?? [];
    expect(quoted.length).toBeGreaterThan(0);
    expect(quoted.filter((word) => under.includes(word)).length / quoted.length).toBeGreaterThan(0.7);
    expect(await shown.locator("mark[data-quote]").count()).toBeGreaterThan(0);
    expect(await seriousIssues(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
  });

  it("a citation of another format opens its text with the passage marked", async () => {
    await page.getByPlaceholder("Ask about your documents").fill("Who shall preside when the President of the United States is tried?");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    const answer = page.getByRole("article", { name: "Answer" }).last();
    await answer.getByRole("button", { name: "Copy" }).waitFor();
    await answer.getByRole("list", { name: "Sources" }).getByRole("button", { name: new RegExp(MARKDOWN) }).first().click();
    const mark = page.getByRole("complementary", { name: "Source" }).locator("article mark").first();
    await mark.waitFor();
    const box = await mark.boundingBox();
    expect(box!.y).toBeGreaterThan(0);
    expect(box!.y).toBeLessThan(860);
  });

  it("everything is there again when the conversation is opened anew", async () => {
    await page.reload();
    await page.getByRole("article", { name: "Answer" }).nth(1).waitFor();
    expect(await page.getByText(QUESTION).first().isVisible()).toBe(true);
    expect(await page.getByRole("button", { name: /How it was found/ }).count()).toBe(2);
    await page.getByRole("button", { name: /^Citation 1/ }).first().click();
    await page.getByRole("complementary", { name: "Source" }).waitFor();
  });

  it("the trace has a picture of the thread, and opens in search debug, where the question is asked again", async () => {
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /How it was found/ }).first().click();
    const picture = page.getByRole("img", { name: /^The way to the evidence: \d+ rounds?; Round 1 → \[1\] / });
    await picture.waitFor();
    await page.getByRole("link", { name: "Open in search debug" }).click();
    await page.getByRole("region", { name: "Decision" }).waitFor();
    expect(await page.getByLabel("Question", { exact: true }).inputValue()).toBe(QUESTION);
    await page.getByRole("button", { name: "Ask again as then" }).click();
    await page.getByText("The same passages reach the answer in the same order.").waitFor();
    expect(await page.locator("tr[data-differs=true]").count()).toBe(0);
    await page.goBack();
  });

  it("an answer that comes all at once is shown", async () => {
    const other = await openPage(browser, `${server.url}/chat`);
    await other.route("**/api/v1/chat", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: await response.body() });
    });
    await other.getByPlaceholder("Ask about your documents").fill(QUESTION);
    await other.keyboard.press("Enter");
    await other.waitForURL(/\/chat\/.+/);
    await other.getByRole("article", { name: "Answer" }).getByRole("button", { name: "Copy" }).waitFor();
    expect(problems(other)).toEqual([]);
    const id = (await conversations())[0]!;
    await fetch(`${server.url}/api/v1/conversations/${id}`, { method: "DELETE" });
    await other.context().close();
  });

  it("a conversation is renamed and deleted", async () => {
    const row = page.getByRole("region", { name: "Conversations" }).getByRole("listitem").first();
    await row.hover();
    await row.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("Budgets");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Budgets" }).waitFor();
    await row.hover();
    await row.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.waitForURL(/\/chat$/);
    await page.getByText("Your questions will be kept here.").waitFor();
  });
});

describe("search debug", () => {
  it("shows the decision, every round and every stage's ranking", async () => {
    await page.getByRole("navigation").getByRole("link", { name: "Search debug" }).click();
    await page.getByText("Ask a question", { exact: true }).waitFor();
    expect(await seriousIssues(page)).toEqual([]);
    await page.getByLabel("Question", { exact: true }).fill(QUESTION);
    await page.keyboard.press("Enter");
    const decision = page.getByRole("region", { name: "Decision" });
    await decision.getByText("Rule score").waitFor();
    const round = page.getByRole("region", { name: "Rankings: Round 1" });
    await round.getByRole("columnheader", { name: /^Words \(BM25\)/ }).waitFor();
    await round.getByRole("columnheader", { name: /^Fused/ }).waitFor();
    expect(await round.locator("tbody tr").count()).toBeGreaterThan(5);
    await page.getByRole("region", { name: "Rankings: After the last round" }).getByText("in the answer").first().waitFor();
    await round.locator("details summary").first().click();
    expect((await round.locator("details p").first().innerText()).length).toBeGreaterThan(40);
    expect(await seriousIssues(page)).toEqual([]);
  });

  it("a moved threshold shows at once what it would have decided", async () => {
    const decision = page.getByRole("region", { name: "Decision" });
    const outcome = decision.getByRole("status");
    expect(await outcome.innerText()).toMatch(/^This question stays: single\. 0 of \d+ recorded questions would change\.$/);
    await decision.getByRole("slider", { name: "rules: multi from" }).press("Home");
    await decision.getByText("This question would become: multi.").waitFor();
    expect(await outcome.innerText()).not.toContain(" 0 of ");
    await decision.getByRole("button", { name: "As recorded" }).click();
    await decision.getByText("This question stays: single.").waitFor();
  });

  it("two settings are compared, for this question only", async () => {
    await page.getByLabel("Compare two settings").click();
    await settled();
    await page.getByRole("button", { name: /^Retrieval/ }).click();
    await settled();
    await page.getByRole("spinbutton", { name: "retrieval.rerank_top_k" }).fill("2");
    await page.getByText("1 changed").waitFor();
    await page.getByText("One look-up", { exact: true }).click();
    await page.getByRole("button", { name: "Search", exact: true }).click();
    const comparison = page.getByRole("region", { name: "Side by side" }).first();
    await comparison.getByText("not in the answer").first().waitFor();
    expect(await comparison.locator("tr[data-differs=true]").count()).toBe(3);
    const kb = (await (await fetch(`${server.url}/api/v1/kbs`)).json()) as { settings: object }[];
    expect(kb.map(({ settings }) => settings)).toEqual([{}]);
  });

  it("what was found can be kept as a file", async () => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export JSON" }).click()]);
    const trace = JSON.parse(readFileSync(await download.path(), "utf8")) as { question: string; request: { mode: string } };
    expect([trace.question, trace.request.mode]).toEqual([QUESTION, "single"]);
  });
});

async function api(method: string, path: string, body?: object): Promise<unknown> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${server.url}/api/v1${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return response.status === 204 ? null : response.json();
}

const rivers = () => page.getByRole("listitem").filter({ hasText: "rivers.md" });

async function choose(action: string): Promise<void> {
  await page.getByRole("button", { name: "Actions for rivers.md" }).click();
  await settled();
  await page.getByRole("menuitem", { name: action }).click();
}

describe("looking after documents", () => {
  const FIRST = "# Rivers\n\n## The Danube\n\nThe Danube is 2,850 kilometres long.\n\n## The Rhine\n\nThe Rhine is 1,233 kilometres long.\n";
  let kbId: string;
  beforeAll(async () => {
    kbId = ((await api("POST", "/kbs", { name: "Notes" })) as { kb_id: string }).kb_id;
    await page.goto(`${server.url}/kbs/${kbId}`);
    await page.locator("input[type=file]").first().setInputFiles([textFile("rivers.md", FIRST)]);
    // The list of uploads says that the file is there before it has been read.
    const read = async () => {
      const { items } = (await api("GET", `/kbs/${kbId}/files`)) as { items: { status: string }[] };
      if (items[0]?.status !== "completed") throw new Error("rivers.md has not been read yet");
    };
    await vi.waitFor(read, { timeout: 240_000, interval: 200 });
    await rivers().getByText("Ready").first().waitFor();
  });

  afterAll(() => api("DELETE", `/kbs/${kbId}`));

  it("a new version of a document tells what it changed", async () => {
    await page.getByRole("link", { name: "rivers.md" }).click();
    // The list, which stays until the document is there, has the same field.
    await page.getByRole("heading", { name: "rivers.md" }).waitFor();
    const next = textFile("rivers.md", FIRST.replace("2,850", "2,857"));
    await page.getByLabel("Upload a new version: rivers.md").setInputFiles(next);
    const report = page.getByText("What the last update changed").locator("xpath=..");
    await report.getByText("1 changed").waitFor();
    expect(await report.innerText()).toMatch(/4 pieces as before/);
    await page.getByText("2,857").first().waitFor();
    expect(await seriousIssues(page)).toEqual([]);
  });

  it("a passage is edited, and hidden from search", async () => {
    const passage = page.locator("article[data-chunk]").filter({ hasText: "Rhine" }).last();
    await passage.getByRole("button", { name: "Edit" }).click();
    await passage.getByRole("textbox", { name: "Edit" }).fill("The Rhine is 1,230 kilometres long, as measured anew.");
    await passage.getByRole("button", { name: "Save" }).click();
    await page.getByText("as measured anew").first().waitFor();
    await passage.getByText("edited", { exact: true }).waitFor();
    await passage.getByRole("button", { name: "Hide from search" }).click();
    await passage.getByText("hidden", { exact: true }).waitFor();
    const found = (await api("POST", "/search", { question: "How long is the Rhine?", kbs: [kbId] })) as { hits: { text: string }[] };
    expect(found.hits.map(({ text }) => text).join()).not.toContain("measured anew");
  });

  it("what is known about a document is corrected", async () => {
    await page.getByRole("button", { name: "Correct" }).click();
    await page.getByLabel("Company").fill("River Works");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByText("Company: River Works").waitFor();
  });

  it("a document is hidden, shown again, and its deletion taken back", async () => {
    await page.getByRole("link", { name: "Notes" }).click();
    await rivers().getByText("River Works").waitFor();
    await choose("Hide from every search");
    await rivers().getByText("Hidden").waitFor();
    await choose("Search it again");
    await rivers().getByText("Ready").waitFor();
    await choose("Delete document");
    await rivers().waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Undo" }).click();
    await rivers().waitFor();
    await choose("Delete document");
    await rivers().waitFor({ state: "detached" });
    await page.goto(`${server.url}/kbs`);
    await expect.poll(() => api("GET", `/kbs/${kbId}/files`), { timeout: 20_000 }).toMatchObject({ total: 0 });
  });

  it("a knowledge base has settings of its own, with their meaning", async () => {
    await page.goto(`${server.url}/kbs/${kbId}/settings`);
    await page.getByRole("button", { name: /^Rounds/ }).click();
    await page.getByText("Most look-ups for one question.").waitFor();
    await page.getByRole("spinbutton", { name: "recursion.max_rounds" }).fill("4");
    expect(await seriousIssues(page)).toEqual([]);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(await api("GET", `/kbs/${kbId}`)).toMatchObject({ settings: { recursion: { max_rounds: 4 } } });
  });

  it("files are attached to a conversation, and say how they are read", async () => {
    await page.goto(`${server.url}/chat`);
    await page.getByLabel("Attach files to this conversation").last().waitFor();
    const files = [textFile("offer.txt", "The offer is for 12 machines at 4,200 euro each."), textFile("broken.pdf", "%PDF-1.7 nothing")];
    await page.locator("input[type=file]").setInputFiles(files);
    const list = page.getByRole("list", { name: "Attached files" });
    await list.getByText("read whole").waitFor();
    await list.getByText(/cannot be read: broken\.pdf/).waitFor();
    await page.getByPlaceholder("Ask about your documents").fill("How many machines is this offer for?");
    await page.keyboard.press("Enter");
    const answer = page.getByRole("article", { name: "Answer" });
    await answer.getByText("12 machines").first().waitFor();
    await answer.getByText(/broken\.pdf/).first().waitFor();
  });

  it("an answer takes feedback, and the conversation is exported", async () => {
    const good = page.getByRole("button", { name: "Good answer" });
    await good.click();
    await page.locator('button[aria-label="Good answer"][aria-pressed="true"]').waitFor();
    await page.reload();
    await page.locator('button[aria-label="Good answer"][aria-pressed="true"]').waitFor();
    const first = page.getByRole("region", { name: "Conversations" }).getByRole("listitem").first();
    await first.hover();
    await first.getByRole("button", { name: /^Actions for/ }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Export as Markdown" }).click()]);
    expect(readFileSync(await download.path(), "utf8")).toContain("12 machines");
    await fetch(`${server.url}/api/v1/conversations/${page.url().split("/").at(-1)}`, { method: "DELETE" });
    await page.goto(`${server.url}/chat`);
  });
});

describe("settings and evaluation", () => {
  it("a model is tried and says why it does not work; its key is never shown again", async () => {
    await page.getByRole("navigation").getByRole("link", { name: "Settings" }).click();
    const panel = page.getByRole("region", { name: "Language model", exact: true });
    await panel.getByText("Not set", { exact: true }).waitFor();
    expect(await seriousIssues(page)).toEqual([]);
    await panel.getByLabel("Address").fill("http://127.0.0.1:9/v1");
    await panel.getByLabel("Model").fill("nobody");
    await panel.getByLabel("Key").fill("sk-hidden");
    await panel.getByRole("button", { name: "Test" }).click();
    await panel.getByText("Does not work: http://127.0.0.1:9/v1 cannot be reached").waitFor();
    await panel.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved, and in use.").waitFor();
    await page.reload();
    await panel.getByPlaceholder("A key is set; type another to replace it").waitFor();
    expect(await page.content()).not.toContain("sk-hidden");
    await panel.getByLabel("Address").fill("");
    await panel.getByRole("button", { name: "Save" }).click();
    await panel.getByText("Not set", { exact: true }).waitFor();
  });

  it("what was decided so far is drawn against each threshold", async () => {
    await page.getByRole("navigation").getByRole("link", { name: "Evaluation" }).click();
    const asked = page.getByRole("region", { name: "Questions asked so far" });
    await asked.getByRole("img", { name: "Share of several look-ups: rules: multi from" }).waitFor();
    await asked.getByText("now 0.75").waitFor();
    await asked.getByText("fallback: rules from", { exact: true }).click();
    await asked.getByText("now 0.4").waitFor();
    expect(await seriousIssues(page)).toEqual([]);
  });
});

describe("language, theme and phone", () => {
  it("the page speaks Chinese when asked to, and remembers it", async () => {
    await page.goto(`${server.url}/chat`);
    await page.getByRole("button", { name: "中文" }).click();
    await page.getByRole("heading", { name: "想了解什么？" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "想了解什么？" }).waitFor();
    expect(await page.locator("html").getAttribute("lang")).toBe("zh-CN");
    expect(await page.getByRole("main").innerText()).not.toMatch(/[A-Z][a-z]{3,}(?<!Clew|Public)\b/);
    await page.getByRole("button", { name: "English" }).click();
  });

  it("light and dark can be chosen and have enough contrast", async () => {
    await page.getByRole("button", { name: "Theme" }).click();
    await page.getByRole("menuitem", { name: "Dark" }).click();
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    await page.mouse.move(700, 300);
    await page.waitForTimeout(400);
    expect(await seriousIssues(page)).toEqual([]);
    await page.goto(`${server.url}/kbs`);
    await page.getByRole("link", { name: /Public documents/ }).waitFor();
    expect(await seriousIssues(page)).toEqual([]);
  });

  it("every page fits a phone in the dark, in Chinese", async () => {
    const options = { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true, colorScheme: "dark" as const, locale: "zh-CN" };
    const phone = await openPage(browser, server.url, options);
    const [kb] = (await api("GET", "/kbs")) as { kb_id: string }[];
    const { conversation_id: asked, message_id: answered } = (await api("POST", "/chat", {
      question: QUESTION,
      kbs: [kb!.kb_id],
      retrieval_mode: "multi",
      stream: false,
    })) as Record<string, string>;
    const { items } = (await api("GET", `/kbs/${kb!.kb_id}/files`)) as { items: { file_id: string }[] };
    const ofKb = [`/kbs/${kb!.kb_id}`, `/kbs/${kb!.kb_id}/settings`, `/kbs/${kb!.kb_id}/files/${items[0]!.file_id}`];
    const ofAnswer = [`/chat/${asked}`, `/debug?conversation=${asked}&message=${answered}`];
    for (const path of ["/chat", "/kbs", ...ofKb, ...ofAnswer, "/debug", "/evaluation", "/settings"]) {
      await phone.goto(`${server.url}${path}`);
      await phone.getByRole("heading").or(phone.getByRole("article")).first().waitFor();
      await phone.getByRole("status", { name: "正在加载" }).waitFor({ state: "detached" });
      expect([path, await phone.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)]).toEqual([path, 0]);
      expect([path, ...(await seriousIssues(phone))]).toEqual([path]);
    }
    expect(problems(phone)).toEqual([]);
    await phone.context().close();
  });

  it("fits a phone, with the menu and the source in drawers", async () => {
    const phone = await openPage(browser, server.url, { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true });
    await phone.getByPlaceholder("Ask about your documents").fill(QUESTION);
    await phone.getByRole("button", { name: "Ask", exact: true }).click();
    await phone.getByRole("button", { name: "Copy" }).waitFor();
    const overflow = () => phone.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(await overflow()).toBeLessThanOrEqual(0);
    await phone.getByRole("button", { name: /^Citation 1/ }).first().click();
    await phone.getByRole("dialog", { name: "Source" }).locator("mark").first().waitFor();
    await phone.getByRole("button", { name: "Close" }).click();
    await phone.getByRole("button", { name: "Menu" }).click();
    await phone.getByRole("dialog", { name: "Menu" }).getByRole("link", { name: "Knowledge bases" }).click();
    await phone.getByRole("link", { name: /Public documents/ }).click();
    await phone.getByText("3 documents", { exact: true }).waitFor();
    expect(await overflow()).toBeLessThanOrEqual(0);
    expect(await seriousIssues(phone)).toEqual([]);
    expect(problems(phone)).toEqual([]);
    await phone.context().close();
  });
});
