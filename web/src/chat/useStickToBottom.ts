import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

/** Keeps a scrolling box at its end while its content grows, until the reader scrolls up. */
export function useStickToBottom(grows: unknown): {
  box: RefObject<HTMLDivElement | null>;
  atBottom: boolean;
  toBottom: () => void;
} {
  const box = useRef<HTMLDivElement | null>(null);
  const sticking = useRef(true);
  const [atBottom, setAtBottom] = useState(true);

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const onScroll = () => {
      sticking.current = element.scrollHeight - element.scrollTop - element.clientHeight < 48;
      setAtBottom(sticking.current);
    };
    // Content also grows by itself: Markdown is laid out late, a trace is opened.
    const observer = new ResizeObserver(() => {
      if (sticking.current) element.scrollTop = element.scrollHeight;
      onScroll();
    });
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, []);

  useLayoutEffect(() => {
    if (sticking.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [grows]);

  const toBottom = useCallback(() => {
    sticking.current = true;
    box.current?.scrollTo({ top: box.current.scrollHeight, behavior: "smooth" });
  }, []);
  return { box, atBottom, toBottom };
}
