import { create } from "zustand";

import { listenToChanges } from "../live/LiveConnection";
import type { Change } from "../live/changes";
import { keyOf } from "../live/store";

/**
 * The twins and relationships that were deleted, by the keys of `live/store`, with the moments at
 * which that was heard. PERF: one map that changes, as an import may delete a hundred thousand.
 */
export class Gone {
  private readonly since = new Map<string, number>();

  has(key: string): boolean {
    return this.since.has(key);
  }

  /** Takes deletions up, and takes back those of what was made again; whether there was any. */
  take(changes: readonly Change[], now: number): boolean {
    let changed = false;
    for (const change of changes) {
      if (change.kind !== "twin" && change.kind !== "relationship") continue;
      const key = keyOf(change);
      if (change.verb !== "delete") changed = this.since.delete(key) || changed;
      else {
        changed ||= !this.since.has(key);
        this.since.set(key, now);
      }
    }
    return changed;
  }

  /** Forgets what was heard before a moment: rows that were asked for then know better. */
  forget(before: number): void {
    for (const [key, at] of this.since) if (at < before) this.since.delete(key);
  }
}

const gone = new Gone();

/** How often it has changed, so that what shows a twin looks again. */
const useTimes = create<{ times: number }>(() => ({ times: 0 }));
const count = (): void => useTimes.setState(({ times }) => ({ times: times + 1 }));

/** Whether this was deleted since the rows were asked for. */
export function isGone(key: string): boolean {
  return gone.has(key);
}

/** `isGone`, and again whenever it is otherwise. */
export function useGone(key: string): boolean {
  return useTimes(() => gone.has(key));
}

/** There are rows that were asked for at this moment, by `performance.now`. */
export function forgetGone(asked: number): void {
  gone.forget(asked);
  count();
}

// NOTE: as long as there are rows, whichever view is looked at.
listenToChanges((lot) => {
  if (gone.take(lot, performance.now())) count();
});
