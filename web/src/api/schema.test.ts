import { readFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import { expect, it } from "vitest";

/** Without the remark at the top, which the command line adds. */
const body = (text: string) => text.slice(text.indexOf("export interface paths")).trim();

it("the generated client is that of the committed OpenAPI document", { timeout: 30_000 }, async () => {
  const committed = await readFile(new URL("schema.d.ts", import.meta.url), "utf8");
  const fresh = astToString(await openapiTS(new URL("../../openapi.json", import.meta.url)));
  expect(body(committed)).toBe(body(fresh));
});
