import { afterEach, describe, expect, it, vi } from "vitest";
import { loaded } from "./loading";

afterEach(() => vi.unstubAllGlobals());

const gone = async () => Promise.reject(new TypeError("gone"));

function health(...answers: (boolean | Error)[]) {
  vi.stubGlobal("fetch", async () => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Error) throw answer;
    return { ok: answer };
  });
}

describe("a part of the page", () => {
  it("is waited for while the server is away", async () => {
    health(new TypeError("Failed to fetch"), new TypeError("Failed to fetch"), true);
    let tries = 0;
    const reload = vi.fn(() => true);
    const load = async () => {
      tries += 1;
      if (tries < 3) throw new TypeError("Failed to fetch dynamically imported module");
      return "part";
    };
    expect(await loaded(load, reload, 1)).toBe("part");
    expect(reload).not.toHaveBeenCalled();
  });

  it("that a newer server no longer has loads the page anew, and fails where that was just done", async () => {
    health(true);
    const reload = vi.fn().mockReturnValueOnce(true).mockReturnValue(false);
    await expect(loaded(gone, reload, 1)).rejects.toThrow("gone");
    expect(reload).toHaveBeenCalledTimes(2);
  });
});
