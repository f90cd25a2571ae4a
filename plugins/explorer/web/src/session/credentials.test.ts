import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import {
  forgetTokens,
  hearRefusal,
  keepTokens,
  PAUSE,
  readToken,
  useCredentials,
} from "./credentials";
import { Authority } from "./oauth";

const ISSUER = "https://id.example";

/** Answers the token endpoint in turn; its last answer stands from then on. */
function play(...answers: (() => Response)[]) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (url: string | URL, init?: RequestInit) => {
    if (new URL(url).pathname !== "/token") {
      return Promise.resolve(Response.json({ issuer: ISSUER, token_endpoint: `${ISSUER}/token` }));
    }
    asked.push(new URLSearchParams(String(init?.body)).get("refresh_token") ?? "");
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    return Promise.resolve().then(() => answer?.() ?? Response.error());
  });
  return asked;
}

const gone = (): Response => {
  throw new TypeError("Failed to fetch");
};
const busy = () => Response.json({ error: "slow_down" }, { status: 429 });
const broken = () => new Response("Bad gateway", { status: 502 });
const refused = () => Response.json({ error: "invalid_grant" }, { status: 400 });
const given = () =>
  Response.json({
    access_token: "new",
    token_type: "Bearer",
    expires_in: 3600,
    refresh_token: "r2",
  });

describe("a token that ends soon", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    const authority = new Authority(
      { authority: ISSUER, clientId: "page", scopes: [], audience: "" },
      "https://twins.example/explorer/signed-in",
    );
    keepTokens(
      { access: "old", expires: Date.now() + 10_000, refresh: "r1", user: "ada" },
      authority,
    );
  });
  afterEach(() => {
    forgetTokens();
    vi.useRealTimers();
    vi.unstubAllGlobals();
    useCredentials.setState(useCredentials.getInitialState());
  });

  test.each([
    ["is gone", gone],
    ["is too busy", busy],
    ["is broken", broken],
  ])("is renewed later where the authority %s for a moment", async (_what, failing) => {
    const asked = play(failing, given);
    expect(await readToken()).toBe("old");
    expect(await readToken()).toBe("old");
    expect(asked).toEqual(["r1"]); // not with every call
    await vi.advanceTimersByTimeAsync(PAUSE);
    expect(await readToken()).toBe("new");
    expect(asked).toEqual(["r1", "r1"]);
  });

  test("is not renewed again once the authority has refused it", async () => {
    const asked = play(refused, given);
    await readToken();
    await vi.advanceTimersByTimeAsync(10 * PAUSE);
    expect(await readToken()).toBe("old");
    expect(asked).toEqual(["r1"]);
  });

  test("comes by itself after it has ended, when the authority is there again", async () => {
    const asked = play(gone, gone, given);
    expect(await hearRefusal("old")).toBe(false);
    expect(useCredentials.getState().phase).toBe("expired");
    await vi.advanceTimersByTimeAsync(2 * PAUSE);
    expect(useCredentials.getState()).toEqual({ phase: "in", user: "ada" });
    expect(await readToken()).toBe("new");
    expect(asked).toEqual(["r1", "r1", "r1"]);
  });
});

describe("a call that is refused", () => {
  afterEach(() => useCredentials.setState(useCredentials.getInitialState()));

  test("of a page that has signed out and was not left asks to sign in again", async () => {
    keepTokens({ access: "old", expires: null, refresh: null, user: "ada" }, null);
    forgetTokens();
    expect(await readToken()).toBeNull();
    expect(await hearRefusal(null)).toBe(false);
    expect(useCredentials.getState().phase).toBe("expired");
  });

  test("of a page where nobody signs in asks nobody", async () => {
    expect(await hearRefusal(null)).toBe(false);
    expect(useCredentials.getState().phase).toBe("out");
  });
});
