import { expiryOf, parseClaims } from "./claims";
import { keepPasted, useCredentials } from "./credentials";

const PASTED = "twinframe-explorer-pasted";

/**
 * Take a token that was pasted. SEC: the tab keeps it until it is closed, so that a reload does not
 * ask again; no other tab and no later user of the browser can read it there.
 */
export function takePasted(token: string): void {
  sessionStorage.setItem(PASTED, token);
  keepPasted(token);
}

/** Take up the token that was pasted before this tab was loaded again, unless it has ended. */
export function restorePasted(): void {
  const token = sessionStorage.getItem(PASTED);
  if (token === null || useCredentials.getState().phase !== "out") return;
  const expiry = expiryOf(parseClaims(token));
  if (expiry !== null && expiry < Date.now()) forgetPasted();
  else keepPasted(token);
}

export function forgetPasted(): void {
  sessionStorage.removeItem(PASTED);
}

// What the service takes no longer is not tried again after a reload.
useCredentials.subscribe(({ phase }) => {
  if (phase === "expired") forgetPasted();
});
