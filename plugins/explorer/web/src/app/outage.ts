import { create } from "zustand";

import { onSilence } from "../api/silence";
import { besidePage } from "./addresses";

/** Whether the service of this page gives no answer. */
export const useOutage = create<{ isOut: boolean }>(() => ({ isOut: false }));

/** Between two tries, in milliseconds. */
const FIRST_WAIT = 1000;
const LONGEST_WAIT = 10_000;

const waiting = new Set<() => void>();
const recoveries = new Set<() => void>();
let isWatching = false;
let wake: () => void = () => undefined;

/** Call this whenever the service answers again after an outage; returns what ends it. */
export function onRecovery(listener: () => void): () => void {
  recoveries.add(listener);
  return () => void recoveries.delete(listener);
}

/** Whether the service answers now. */
export async function isAnswering(): Promise<boolean> {
  try {
    const answer = await fetch(besidePage("../health/live"), { cache: "no-store" });
    return answer.ok;
  } catch {
    return false;
  }
}

/** A call had no answer: if the service gives none at all, it is an outage until it does. */
function hearSilence(): void {
  if (isWatching) return;
  isWatching = true;
  void watch();
}

/** Try now, not when the pause between two tries is over. */
export function tryNow(): void {
  wake();
}

/** Is done when the service answers. */
export function waitForAnswer(): Promise<void> {
  return new Promise((resolve) => {
    waiting.add(resolve);
    hearSilence();
  });
}

async function watch(): Promise<void> {
  for (let wait = FIRST_WAIT; !(await isAnswering()); wait = Math.min(1.5 * wait, LONGEST_WAIT)) {
    useOutage.setState({ isOut: true });
    await pause(wait);
  }
  isWatching = false;
  const wasOut = useOutage.getState().isOut;
  useOutage.setState({ isOut: false });
  const done = [...waiting, ...(wasOut ? recoveries : [])];
  waiting.clear();
  for (const one of done) one();
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

onSilence(hearSilence);
window.addEventListener("online", tryNow);
