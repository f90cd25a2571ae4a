import { create } from "zustand";

import { expiryOf, nameOf, parseClaims } from "./claims";
import { isRefused, type Authority, type Tokens } from "./oauth";

interface Credentials {
  /** `out`: nobody has signed in. `expired`: somebody has, and the service takes it no longer. */
  phase: "out" | "in" | "expired";
  user: string | null;
}

/** Whether somebody is signed in. The tokens themselves are not in here. */
export const useCredentials = create<Credentials>(() => ({ phase: "out", user: null }));

// SEC: tokens live in memory alone: no storage that another page or a later user could read. What
// is lost with a reload is got again silently, where the authority still knows the browser.
let held: Tokens | null = null;
let authority: Authority | null = null;
let refreshing: Promise<boolean> | null = null;

/** A token is renewed so long before its end, in milliseconds. */
const AHEAD = 30_000;
/** An authority that has not answered is asked again after so long, in milliseconds. */
export const PAUSE = 5_000;
/** Until when it is not asked again. */
let silentUntil = 0;

export function keepTokens(tokens: Tokens, source: Authority | null): void {
  held = tokens;
  authority = source;
  silentUntil = 0;
  useCredentials.setState({ phase: "in", user: tokens.user });
}

/** Keep a token that was pasted: nobody renews it. */
export function keepPasted(token: string): void {
  const claims = parseClaims(token);
  const tokens = { access: token, expires: expiryOf(claims), refresh: null, user: nameOf(claims) };
  keepTokens(tokens, null);
}

/** The token to send with a call, renewed in time. */
export async function readToken(): Promise<string | null> {
  if (held?.refresh && held.expires !== null && held.expires - Date.now() < AHEAD) await renew();
  return held?.access ?? null;
}

/** Hear of a token that was refused; answers whether there is another to try with. */
export async function hearRefusal(token: string | null): Promise<boolean> {
  if (held !== null && token !== held.access) return true; // somebody has signed in again meanwhile
  if (await renew()) return true;
  // NOTE: who has signed out and then stayed on the page is asked too, or could do nothing there.
  if (useCredentials.getState().phase === "in") useCredentials.setState({ phase: "expired" });
  return false;
}

/** Forget who is signed in; the refresh token and its authority, to end it there. */
export function forgetTokens(): { refresh: string | null; authority: Authority | null } {
  const last = { refresh: held?.refresh ?? null, authority };
  held = null;
  authority = null;
  return last;
}

/** One renewal at a time: a refresh token may be good for one use alone. */
function renew(): Promise<boolean> {
  refreshing ??= attempt().finally(() => {
    refreshing = null;
  });
  return refreshing;
}

async function attempt(): Promise<boolean> {
  const before = held;
  if (before === null || before.refresh === null || authority === null) return false;
  if (Date.now() < silentUntil) return false;
  try {
    const found = await authority.refresh(before.refresh, before.user);
    if (held === before) keepTokens(found, authority);
    return true;
  } catch (error) {
    // Whoever asked goes on with the old token and hears from the service whether it still holds.
    if (held !== before) return held !== null;
    if (isRefused(error)) held = { ...before, refresh: null };
    else {
      silentUntil = Date.now() + PAUSE;
      setTimeout(tryAgain, PAUSE);
    }
    return false;
  }
}

/** Whoever waits for a token gets one as soon as the authority answers again. */
function tryAgain(): void {
  if (useCredentials.getState().phase === "expired") void renew();
}
