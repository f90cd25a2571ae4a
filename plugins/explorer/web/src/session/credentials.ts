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

/** A token is renewed so long before its end, in milliseconds. */
const AHEAD = 30_000;
/** An authority that has not answered is asked again after so long, in milliseconds. */
export const PAUSE = 5_000;

/** What is left of tokens that are forgotten, to end it at their authority. */
export interface Last {
  refresh: string | null;
  authority: Authority | null;
}

/**
 * Keeps the tokens for one audience, and renews them. SEC: they live in memory alone: no storage
 * that another page or a later user could read. What is lost with a reload is got again silently,
 * where the authority still knows the browser.
 */
export class Keeper {
  private held: Tokens | null = null;
  private authority: Authority | null = null;
  private refreshing: Promise<boolean> | null = null;
  /** Until when the authority is not asked again. */
  private silentUntil = 0;

  /** `onGiven` hears of tokens that are new; `onSilence` that the authority could be asked again. */
  constructor(
    private readonly onGiven: (tokens: Tokens) => void = () => undefined,
    private readonly onSilence: () => void = () => undefined,
  ) {}

  /** The token that is held, renewed or not. */
  get access(): string | null {
    return this.held?.access ?? null;
  }

  keep(tokens: Tokens, source: Authority | null): void {
    this.held = tokens;
    this.authority = source;
    this.silentUntil = 0;
    this.onGiven(tokens);
  }

  /** The token to send with a call, renewed in time. */
  async read(): Promise<string | null> {
    const { held } = this;
    if (held?.refresh && held.expires !== null && held.expires - Date.now() < AHEAD) {
      await this.renew();
    }
    return this.access;
  }

  /** Whether there is another token than this, which was refused. */
  async hear(token: string | null): Promise<boolean> {
    // Somebody may have signed in again meanwhile.
    return (this.held !== null && token !== this.held.access) || this.renew();
  }

  forget(): Last {
    const last = { refresh: this.held?.refresh ?? null, authority: this.authority };
    this.held = null;
    this.authority = null;
    return last;
  }

  /** One renewal at a time: a refresh token may be good for one use alone. */
  renew(): Promise<boolean> {
    this.refreshing ??= this.attempt().finally(() => {
      this.refreshing = null;
    });
    return this.refreshing;
  }

  private async attempt(): Promise<boolean> {
    const { held: before, authority } = this;
    if (before === null || before.refresh === null || authority === null) return false;
    if (Date.now() < this.silentUntil) return false;
    try {
      const found = await authority.refresh(before.refresh, before.user);
      if (this.held === before) this.keep(found, authority);
      return true;
    } catch (error) {
      // Whoever asked goes on with the old token and hears from the service whether it still holds.
      if (this.held !== before) return this.held !== null;
      if (isRefused(error)) this.held = { ...before, refresh: null };
      else {
        this.silentUntil = Date.now() + PAUSE;
        setTimeout(this.onSilence, PAUSE);
      }
      return false;
    }
  }
}

const main = new Keeper(
  ({ user }) => useCredentials.setState({ phase: "in", user }),
  // Whoever waits for a token gets one as soon as the authority answers again.
  () => {
    if (useCredentials.getState().phase === "expired") void main.renew();
  },
);

export function keepTokens(tokens: Tokens, source: Authority | null): void {
  main.keep(tokens, source);
}

/** Keep a token that was pasted: nobody renews it. */
export function keepPasted(token: string): void {
  const claims = parseClaims(token);
  const tokens = { access: token, expires: expiryOf(claims), refresh: null, user: nameOf(claims) };
  keepTokens(tokens, null);
}

/** The token to send with a call, renewed in time. */
export function readToken(): Promise<string | null> {
  return main.read();
}

/** Hear of a token that was refused; answers whether there is another to try with. */
export async function hearRefusal(token: string | null): Promise<boolean> {
  if (await main.hear(token)) return true;
  // NOTE: who has signed out and then stayed on the page is asked too, or could do nothing there.
  if (useCredentials.getState().phase === "in") useCredentials.setState({ phase: "expired" });
  return false;
}

/** Forget who is signed in; the refresh token and its authority, to end it there. */
export function forgetTokens(): Last {
  return main.forget();
}
