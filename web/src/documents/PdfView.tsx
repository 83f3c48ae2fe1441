import { MinusOutlined, PlusOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Citation } from "../api/client";
import { Failure, Loading } from "../app/State";
import styles from "./documents.module.css";
import { type Box, quoteBoxes } from "./quoteBoxes";
import { type PDFDocumentProxy, TextLayer, openPdf } from "./pdf";

type Region = Citation["regions"][number];
interface Size {
  width: number;
  height: number;
}

export interface PdfViewProps {
  url: string;
  /** What to show: its page, its regions marked, its quote marked more strongly. A new object is shown anew. */
  place: Pick<Citation, "page" | "regions" | "quote"> | null;
}

/** All pages in one scroll; only those near the window are drawn. */
export default function PdfView({ url, place }: PdfViewProps) {
  const { t } = useTranslation();
  const { pdf, sizes, error, measured } = usePdf(url, place?.page ?? 1);
  const box = useRef<HTMLDivElement | null>(null);
  const [width, setWidth] = useState(0);
  const [zoom, setZoom] = useState(1);
  const [current, setCurrent] = useState(place?.page ?? 1);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const ready = pdf !== null && width > 0;
  const target = place?.page ?? 1;
  useEffect(() => {
    const element = box.current?.querySelector<HTMLElement>(`[data-page="${target}"]`);
    if (!ready || !box.current || !element) return;
    const mark = element.querySelector<HTMLElement>("mark");
    box.current.scrollTop = element.offsetTop - 12 + (mark ? Math.max(0, mark.offsetTop - 90) : 0);
    // Only when there is a new place to show: a change of width or zoom must not move the reader.
  }, [ready, target, place]);

  // The passage may be longer than the window: once the quoted sentence is found in it, that is what must be seen.
  const shownQuote = useRef<object | null>(null);
  const onQuote = useCallback(
    (number: number, top: number) => {
      const element = box.current?.querySelector<HTMLElement>(`[data-page="${number}"]`);
      if (!box.current || !element || shownQuote.current === place) return;
      shownQuote.current = place;
      const at = element.offsetTop + top;
      const { scrollTop, clientHeight } = box.current;
      if (at < scrollTop + 20 || at > scrollTop + clientHeight - 60) box.current.scrollTop = at - clientHeight / 3;
    },
    [place],
  );

  const goTo = useCallback((number: number) => {
    const element = box.current?.querySelector<HTMLElement>(`[data-page="${number}"]`);
    if (box.current && element) box.current.scrollTop = element.offsetTop - 12;
  }, []);

  const onScroll = useCallback(() => {
    const element = box.current;
    if (!element) return;
    const middle = element.scrollTop + element.clientHeight / 2;
    const pages = [...element.querySelectorAll<HTMLElement>("[data-page]")];
    const found = pages.findLast((candidate) => candidate.offsetTop <= middle);
    if (found) setCurrent(Number(found.dataset["page"]));
  }, []);

  if (error) return <Failure error={error} />;
  const pageWidth = Math.max(Math.min(width - 24, 1100), 200) * zoom;
  return (
    <div className={styles.pdf}>
      <div className={styles.pdfBar}>
        {pdf && <PageChoice page={current} pages={pdf.numPages} onPage={goTo} />}
        <Button
          type="text"
          size="small"
          icon={<MinusOutlined aria-hidden />}
          aria-label={t("document.zoomOut")}
          disabled={zoom <= 0.5}
          onClick={() => setZoom(zoom / 1.25)}
        />
        <Button
          type="text"
          size="small"
          icon={<PlusOutlined aria-hidden />}
          aria-label={t("document.zoomIn")}
          disabled={zoom >= 4}
          onClick={() => setZoom(zoom * 1.25)}
        />
      </div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard */}
      <div className={styles.pdfScroll} ref={box} onScroll={onScroll} tabIndex={0} role="region" aria-label={t("document.original")}>
        {!ready && <Loading />}
        {ready &&
          sizes.map((size, index) => (
            <PdfPage
              // oxlint-disable-next-line react/no-array-index-key -- a page is its number
              key={index}
              pdf={pdf}
              number={index + 1}
              size={size}
              width={pageWidth}
              place={place}
              onSize={measured}
              onQuote={onQuote}
            />
          ))}
      </div>
    </div>
  );
}

/** Which page is shown; another one can be typed. */
function PageChoice({ page, pages, onPage }: { page: number; pages: number; onPage: (page: number) => void }) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState<string | null>(null);
  if (typed === null) {
    return (
      <button type="button" className={styles.pageChoice} title={t("document.goToPage")} onClick={() => setTyped(String(page))}>
        {t("document.pageOf", { page, pages })}
      </button>
    );
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const number = Math.round(Number(typed));
        if (number >= 1) onPage(Math.min(number, pages));
        setTyped(null);
      }}
    >
      <input
        className={styles.pageInput}
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- it takes the place of the button that was just pressed
        autoFocus
        inputMode="numeric"
        aria-label={t("document.goToPage")}
        value={typed}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setTyped(event.target.value.replace(/\D/g, ""))}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          // It closes the field, not the panel.
          event.stopPropagation();
          setTyped(null);
        }}
        onBlur={() => setTyped(null)}
      />
      {` / ${pages}`}
    </form>
  );
}

/** The document and the size of each page: exact for the first one shown, that of its neighbours until they are drawn. */
function usePdf(url: string, first: number) {
  const [pdf, setPdf] = useState<PDFDocumentProxy | null>(null);
  const [sizes, setSizes] = useState<readonly Size[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const [wanted] = useState(first);

  useEffect(() => {
    let alive = true;
    setPdf(null);
    setError(null);
    const task = openPdf(url);
    task.promise
      .then(async (opened) => {
        const page = await opened.getPage(Math.min(Math.max(wanted, 1), opened.numPages));
        const { width, height } = page.getViewport({ scale: 1 });
        if (!alive) return;
        setSizes(Array.from({ length: opened.numPages }, () => ({ width, height })));
        setPdf(opened);
      })
      .catch((reason: unknown) => alive && setError(reason instanceof Error ? reason : new Error(String(reason))));
    return () => {
      alive = false;
      void task.destroy();
    };
  }, [url, wanted]);

  const measured = useCallback((number: number, size: Size) => {
    setSizes((known) => {
      const old = known[number - 1];
      if (!old || (Math.abs(old.width - size.width) < 0.5 && Math.abs(old.height - size.height) < 0.5)) return known;
      return known.with(number - 1, size);
    });
  }, []);
  return { pdf, sizes, error, measured };
}

interface PdfPageProps {
  pdf: PDFDocumentProxy;
  number: number;
  size: Size;
  width: number;
  place: PdfViewProps["place"];
  onSize: (number: number, size: Size) => void;
  /** Told where the quote begins, in pixels from the top of the page. */
  onQuote: (number: number, top: number) => void;
}

function PdfPage({ pdf, number, size, width, place, onSize, onQuote }: PdfPageProps) {
  const { t } = useTranslation();
  const frame = useRef<HTMLDivElement | null>(null);
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const text = useRef<HTMLDivElement | null>(null);
  const near = useNear(frame);
  // The width for which the text, and the picture, were last made; 0: not yet.
  const [readable, setReadable] = useState(0);
  const [drawn, setDrawn] = useState(0);
  const [boxes, setBoxes] = useState<readonly Box[]>([]);
  const scale = width / size.width;

  useEffect(() => {
    if (!near) return undefined;
    let alive = true;
    let stop = () => undefined as void;
    const draw = async () => {
      const page = await pdf.getPage(number);
      const natural = page.getViewport({ scale: 1 });
      onSize(number, { width: natural.width, height: natural.height });
      if (!alive || !canvas.current || !text.current) return;
      const viewport = page.getViewport({ scale: width / natural.width });
      const density = Math.min(window.devicePixelRatio || 1, 2);
      canvas.current.width = Math.floor(viewport.width * density);
      canvas.current.height = Math.floor(viewport.height * density);
      const task = page.render({ canvas: canvas.current, viewport, transform: [density, 0, 0, density, 0, 0] });
      text.current.replaceChildren();
      const layer = new TextLayer({ textContentSource: page.streamTextContent(), container: text.current, viewport });
      stop = () => {
        task.cancel();
        layer.cancel();
      };
      await layer.render().catch(() => undefined);
      if (alive) setReadable(width);
      await task.promise.catch(() => undefined);
      if (alive) setDrawn(width);
    };
    void draw();
    return () => {
      alive = false;
      stop();
      setReadable(0);
      setDrawn(0);
    };
  }, [near, pdf, number, width, onSize]);

  const regions = place?.regions.filter((region) => region.page === number) ?? [];
  const marked = regions.length > 0;
  useEffect(() => {
    const found = marked && readable === width && text.current && place ? quoteBoxes(text.current, place.quote) : [];
    setBoxes(found);
    if (found[0]) onQuote(number, found[0].top);
  }, [marked, readable, width, place, number, onQuote]);

  return (
    <div
      ref={frame}
      className={styles.pdfPage}
      data-page={number}
      data-drawn={drawn === width}
      role="group"
      aria-label={t("document.page", { page: number })}
      style={{ width, height: size.height * scale, ["--total-scale-factor" as string]: scale, ["--scale-round-x" as string]: "1px", ["--scale-round-y" as string]: "1px" }}
    >
      {near && <canvas ref={canvas} />}
      {near && <div ref={text} className={styles.textLayer} />}
      {regions.map((region) => region.bbox && <Mark key={JSON.stringify(region.bbox)} box={region.bbox} scale={scale} />)}
      {boxes.map((box) => (
        <mark key={JSON.stringify(box)} className={styles.quoteBox} data-quote style={{ ...box }} />
      ))}
    </div>
  );
}

function Mark({ box, scale }: { box: NonNullable<Region["bbox"]>; scale: number }) {
  return (
    <mark
      className={styles.box}
      style={{
        left: box.x0 * scale - 3,
        top: box.y0 * scale - 2,
        width: (box.x1 - box.x0) * scale + 6,
        height: (box.y1 - box.y0) * scale + 4,
      }}
    />
  );
}

function useNear(frame: React.RefObject<HTMLElement | null>): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    if (!frame.current) return undefined;
    const observer = new IntersectionObserver((entries) => setNear(entries.at(-1)?.isIntersecting ?? false), {
      rootMargin: "800px 0px",
    });
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, [frame]);
  return near;
}
