import { createReadStream, existsSync } from "node:fs";
import { cp } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const page = fileURLToPath(new URL("../src/clew/api/page", import.meta.url));
const pdfjs = fileURLToPath(new URL("node_modules/pdfjs-dist", import.meta.url));
const server = process.env.CLEW_SERVER ?? "http://127.0.0.1:8765";

/** Character maps, fonts and decoders that pdf.js fetches at run time, under /pdfjs/. */
function pdfData(): Plugin {
  return {
    name: "pdf-data",
    configureServer(dev) {
      dev.middlewares.use("/pdfjs", (request, response, next) => {
        const path = `${pdfjs}${(request.url ?? "").split("?")[0]}`;
        if (path.includes("..") || !existsSync(path)) return next();
        createReadStream(path).pipe(response);
      });
    },
    async closeBundle() {
      for (const folder of ["cmaps", "standard_fonts", "wasm", "iccs"]) {
        await cp(`${pdfjs}/${folder}`, `${page}/pdfjs/${folder}`, { recursive: true });
      }
    },
  };
}

/** Of KaTeX's fonts the one form that every browser of today reads. */
function leanFonts(): Plugin {
  return {
    name: "lean-fonts",
    enforce: "pre",
    transform(code, id) {
      if (!id.endsWith("katex.min.css")) return null;
      return code.replaceAll(/,url\([^)]*\.(?:woff|ttf)\) ?format\("[^"]*"\)/g, "");
    },
  };
}

export default defineConfig({
  plugins: [react(), pdfData(), leanFonts()],
  build: { outDir: page, emptyOutDir: true, target: "es2022", chunkSizeWarningLimit: 900, manifest: "manifest.json", license: { fileName: "licenses.md" } },
  server: {
    proxy: {
      "/api": {
        target: server,
        changeOrigin: true,
        // The server refuses pages of another origin; in development this one stands for its own.
        configure: (proxy) => proxy.on("proxyReq", (request) => request.removeHeader("origin")),
      },
    },
  },
});
