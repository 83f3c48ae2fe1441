/** pdf.js, set up once: its worker, and where it finds character maps, fonts and decoders. */
import { GlobalWorkerOptions, type PDFDocumentLoadingTask, getDocument } from "pdfjs-dist";
import workerUrl from "pdfjs-dist/build/pdf.worker.min.mjs?url";

GlobalWorkerOptions.workerSrc = workerUrl;

export function openPdf(url: string): PDFDocumentLoadingTask {
  return getDocument({
    url,
    cMapUrl: "/pdfjs/cmaps/",
    cMapPacked: true,
    standardFontDataUrl: "/pdfjs/standard_fonts/",
    wasmUrl: "/pdfjs/wasm/",
    iccUrl: "/pdfjs/iccs/",
    // Only the pages that are looked at are fetched, by ranges.
    disableAutoFetch: true,
    disableStream: true,
    rangeChunkSize: 262_144,
    isEvalSupported: false,
  });
}

export { TextLayer } from "pdfjs-dist";
export type { PDFDocumentProxy, PDFPageProxy } from "pdfjs-dist";
