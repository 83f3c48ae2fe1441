/** Parts of the page that are loaded when they are first shown, also after a lost connection or a new version. */
import { type ComponentType, lazy } from "react";
import { AWAY } from "../api/client";

const PAUSE_MS = 1_500;
const RELOADED = "clew.reloaded";
const AGAIN_MS = 60_000;

/** `load` until it succeeds. While the server is away that is waited for; where it is there and no longer has the part,
 * it serves a newer page, which is loaded instead: `reload` is called, at most once a minute. */
export async function loaded<T>(load: () => Promise<T>, reload = reloadOnce, pauseMs = PAUSE_MS): Promise<T> {
  for (;;) {
    try {
      return await load();
    } catch (error) {
      const there = await fetch("/health", { cache: "no-store" }).then(
        ({ ok }) => ok,
        () => false,
      );
      if (!there) globalThis.dispatchEvent?.(new Event(AWAY));
      if (there && !(await load().then(() => true, () => false)) && !reload()) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

function reloadOnce(): boolean {
  const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
  if (Date.now() - last < AGAIN_MS) return false;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  window.location.reload();
  return true;
}

/** `lazy` for what the page cannot do without. */
export function lazyPart<P extends object>(load: () => Promise<{ default: ComponentType<P> }>) {
  return lazy(() => loaded(load));
}
