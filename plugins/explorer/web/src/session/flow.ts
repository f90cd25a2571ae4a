import type { Configuration } from "../api/types";
import { ROUTES_BASE } from "../app/addresses";
import { Authority, type Pending, type Tokens } from "./oauth";
import { forgetOthers, keepFor } from "./audiences";
import { forgetTokens, keepTokens } from "./credentials";
import { forgetPasted } from "./pasted";

/** The route that the authority sends the browser back to. */
export const RETURN_ROUTE = "/signed-in";
const RETURN_URL = window.location.origin + ROUTES_BASE + RETURN_ROUTE;
const CHANNEL = "twinframe-explorer-sign-in";
const LEFT = "twinframe-explorer-left";
const WAS_IN = "twinframe-explorer-was-in";

/** What a tab remembers while it is at the authority. No token is among it. */
interface Left extends Pending {
  /** Where to go on, as path, query and fragment below the routes of the page. */
  back: string;
}

const known = new Map<string, Authority>();

/** The authority that signs for the service, for an audience; unless told the usual one. */
function authorityOf({ signIn }: Configuration, audience = signIn?.audience ?? ""): Authority {
  if (signIn === null) throw new Error("The service names nobody to sign in at.");
  const found = known.get(audience) ?? new Authority({ ...signIn, audience }, RETURN_URL);
  known.set(audience, found);
  return found;
}

/** Whether this tab was signed in before it was loaded again. */
export function wasSignedIn(): boolean {
  return sessionStorage.getItem(WAS_IN) !== null;
}

/** Go to the authority with this tab, which comes back to where it is. */
export async function leaveToSignIn(configuration: Configuration, silent: boolean): Promise<void> {
  const { url, pending } = await authorityOf(configuration).begin(silent);
  const { pathname, search, hash } = window.location;
  const left: Left = { ...pending, back: pathname.slice(ROUTES_BASE.length) + search + hash };
  sessionStorage.setItem(LEFT, JSON.stringify(left));
  // A silent attempt is made once: if it fails, somebody has to press the button.
  sessionStorage.removeItem(WAS_IN);
  window.location.assign(url);
}

/**
 * What became of coming back: where to go on, or that the tab that asked has been told; `refused`
 * is the error that it was told of, null where there is none. Failures are thrown.
 */
export type Returned = { back: string } | { refused: string | null };

let returning: Promise<Returned> | null = null;

/** Finish a sign-in whose answer is the address of this page; once, however often it is called. */
export function finishSignIn(configuration: Configuration): Promise<Returned> {
  returning ??= finish(configuration).finally(() => {
    returning = null;
  });
  return returning;
}

async function finish(configuration: Configuration): Promise<Returned> {
  const answer = new URLSearchParams(window.location.search);
  const left = readLeft();
  if (left === null || left.state !== answer.get("state")) {
    // A window that another tab has opened: that tab has the verifier and takes the answer.
    const channel = new BroadcastChannel(CHANNEL);
    channel.postMessage(answer.toString());
    channel.close();
    return { refused: answer.get("error") };
  }
  sessionStorage.removeItem(LEFT);
  const authority = authorityOf(configuration);
  const tokens = await authority.complete(answer, left);
  if (tokens !== null) keep(tokens, authority);
  return { back: left.back };
}

/**
 * Sign in with a window of its own, so that nothing of this page is lost; the signal gives it up.
 * With an audience the token is for that one (RFC 8707), beside the one that there is.
 */
export async function signInBeside(
  configuration: Configuration,
  signal: AbortSignal,
  audience?: string,
): Promise<void> {
  // NOTE: the window must be opened in the press itself, before anything is awaited.
  const opened = window.open("about:blank", "_blank", "popup,width=520,height=680");
  if (opened === null) {
    throw new Error("The browser does not let this page open a window. Allow it, and try again.");
  }
  try {
    const authority = authorityOf(configuration, audience);
    const { url, pending } = await authority.begin(false);
    signal.throwIfAborted();
    opened.location.assign(url);
    const tokens = await authority.complete(await waitFor(pending.state, signal), pending);
    if (tokens === null) throw new Error("The authority has signed nobody in.");
    if (audience === undefined || audience === configuration.signIn?.audience) {
      keep(tokens, authority);
    } else keepFor(audience, tokens, authority);
  } catch (error) {
    opened.close();
    throw error;
  }
}

/** End the session here and at the authority, and begin anew. */
export async function signOut(): Promise<void> {
  sessionStorage.removeItem(WAS_IN);
  forgetPasted();
  const { refresh, authority } = forgetTokens();
  const start = `${window.location.origin}${ROUTES_BASE}/`;
  await Promise.allSettled(forgetOthers().map((one) => one.authority?.end(one.refresh, start)));
  // An authority that does not answer keeps nobody here: the tokens are gone already.
  const next = await authority?.end(refresh, start).catch(() => null);
  // The page is loaded anew: nothing that was read stays in memory.
  window.location.assign(next ?? start);
}

function keep(tokens: Tokens, authority: Authority): void {
  sessionStorage.setItem(WAS_IN, "1");
  forgetPasted();
  keepTokens(tokens, authority);
}

function readLeft(): Left | null {
  const text = sessionStorage.getItem(LEFT);
  return text === null ? null : (JSON.parse(text) as Left);
}

/** The answer that a window of ours hands over; it has this state. */
function waitFor(state: string, signal: AbortSignal): Promise<URLSearchParams> {
  return new Promise((resolve, reject) => {
    const channel = new BroadcastChannel(CHANNEL);
    const giveUp = (): void => {
      channel.close();
      reject(new DOMException("The sign-in was given up.", "AbortError"));
    };
    channel.onmessage = ({ data }: MessageEvent<string>) => {
      const answer = new URLSearchParams(data);
      if (answer.get("state") !== state) return;
      channel.close();
      signal.removeEventListener("abort", giveUp);
      resolve(answer);
    };
    signal.addEventListener("abort", giveUp);
  });
}
