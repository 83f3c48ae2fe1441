/** What a setting means, in the page's language. English comes from the server, which documents its own settings. */
import { helpZh } from "./help.zh";
import type { Field } from "./schema";

export function helpOf(field: Pick<Field, "path" | "description">, language: string): string {
  const english = field.description.replaceAll("``", "").replaceAll(/\s+/g, " ").trim();
  return language === "zh" ? (helpZh[field.path] ?? english) : english;
}
