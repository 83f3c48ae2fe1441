// How much script each page needs at its first load, with the texts of its larger language, gzipped; fails where chat
// exceeds its limit.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const LIMIT_KB = 400;
const page = fileURLToPath(new URL("../../src/clew/api/page/", import.meta.url));
const manifest = JSON.parse(readFileSync(`${page}manifest.json`, "utf8"));
const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);

function withImports(key, found = new Set()) {
  if (!found.has(key)) {
    found.add(key);
    for (const next of manifest[key].imports ?? []) withImports(next, found);
  }
  return found;
}

const size = (key) => gzipSync(readFileSync(page + manifest[key].file), { level: 9 }).length / 1000;

// Packages may lie elsewhere, behind a link.
const keyOf = (end) => {
  const key = Object.keys(manifest).find((one) => one.endsWith(end));
  if (!key) throw new Error(`the texts ${end} are not in the build`);
  return key;
};
const LANGUAGES = [["i18n/en.ts", "antd/locale/en_US.js"], ["i18n/zh.ts", "antd/locale/zh_CN.js"]];
const sum = (keys) => [...keys].reduce((all, key) => all + size(key), 0);
const texts = LANGUAGES.map((keys) => new Set(keys.flatMap((end) => [...withImports(keyOf(end))]))).toSorted((a, b) => sum(b) - sum(a))[0];

let failed = false;
for (const name of ["chat/ChatPage", "kbs/KbListPage", "kbs/KbPage", "kbs/FilePage"]) {
  const keys = withImports(`src/${name}.tsx`, withImports(entry));
  for (const key of texts) keys.add(key);
  const total = sum(keys);
  console.log(`${name.padEnd(16)} ${total.toFixed(0)} kB gzipped in ${keys.size} files`);
  if (name === "chat/ChatPage" && total > LIMIT_KB) failed = true;
  if (process.argv.includes("--files")) {
    for (const key of [...keys].toSorted((a, b) => size(b) - size(a)).slice(0, 12)) console.log(`  ${size(key).toFixed(1).padStart(7)}  ${key}`);
  }
}
if (failed) {
  console.error(`chat needs more than ${LIMIT_KB} kB of script`);
  process.exit(1);
}
