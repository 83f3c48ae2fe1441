import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Browser tests: a real server, Chromium over it. They stand with the other tests, their packages here. */
export default defineConfig({
  root: here(".."),
  resolve: {
    alias: {
      "playwright-core": here("node_modules/playwright-core/index.mjs"),
      "axe-core": here("node_modules/axe-core/axe.js"),
    },
  },
  server: { fs: { allow: [here("..")] } },
  test: {
    globals: true,
    environment: "node",
    // Pictures for docs/images are taken on demand.
    include: [process.env.CLEW_SCREENSHOTS ? "tests/browser/screenshots.ts" : "tests/browser/**/*.test.ts"],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
