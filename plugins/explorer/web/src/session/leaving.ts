import { create } from "zustand";

import { signOut } from "./flow";

/** Whether somebody is asked before what is not saved is lost by signing out. */
export const useLeaving = create<{ asks: boolean }>(() => ({ asks: false }));

/** Sign out, at once where nothing is lost by it. */
export function leave(): void {
  if (losesSomething()) useLeaving.setState({ asks: true });
  else void signOut();
}

let agreed = false;

// NOTE: they are called in the order of their coming, whatever they ask for: this one is the first.
window.addEventListener("beforeunload", (event) => {
  if (agreed) event.stopImmediatePropagation();
});

/** Sign out whatever is lost: the browser does not ask once more. */
export function leaveAnyway(): void {
  useLeaving.setState({ asks: false });
  agreed = true;
  void signOut();
}

/** Asks all that have a say when the page is left, as the browser would. */
function losesSomething(): boolean {
  return !window.dispatchEvent(new Event("beforeunload", { cancelable: true }));
}
