import { create } from "zustand";

import { listenToChanges } from "../live/LiveConnection";
import type { Change } from "../live/changes";

interface Since {
  /** How many changes of twins, relationships and models there were since the rows were asked for. */
  changes: number;
  /** Whether there may have been others, which nobody has told of. */
  missed: boolean;
}

/**
 * What has changed in the graph since the query ran. NOTE: what a row shows of a change is not
 * known here: a value that a query has computed, or a twin that it would find now, is in none.
 */
export const useSince = create<Since>(() => ({ changes: 0, missed: false }));

/** How long a measured delay is believed in: clocks are set, machines sleep. */
const MEASURED = 60_000;

/** Tells changes before a moment from those after it, by two clocks that may differ. */
export class Counter {
  private begun = 0;
  /** The shortest time that a change seems to have been on its way, by both clocks. */
  private delay = Infinity;
  private measured = 0;

  /**
   * A query is sent: what happens from now on may be in its rows or not. Returns when the one
   * before was.
   */
  begin(now: number): number {
    const before = this.begun;
    this.begun = now;
    return before;
  }

  /**
   * How many of these, which were heard of at these moments, came about since then. What comes
   * late, as that which somebody saved just before the query, is of before: the delays of others
   * tell that it is late.
   */
  count(changes: readonly Change[], heard: readonly number[]): number {
    let found = 0;
    changes.forEach((change, at) => {
      if (change.kind === "telemetry") return;
      const now = heard[at] ?? 0;
      if (now - this.measured > MEASURED) this.delay = Infinity;
      const moment = Date.parse(change.time);
      if (!Number.isNaN(moment) && now - moment < this.delay) {
        this.delay = now - moment;
        this.measured = now;
      }
      const late = now < this.begun || moment + this.delay < this.begun;
      if (!late) found += 1;
    });
    return found;
  }
}

const counter = new Counter();

/** Begin anew, as a query is sent. What is returned takes that back, where it gave no rows. */
export function beginSince(): () => void {
  const before = useSince.getState();
  const begun = counter.begin(Date.now());
  useSince.setState({ changes: 0, missed: false });
  return () => {
    counter.begin(begun);
    useSince.setState(({ changes, missed }) => ({
      changes: before.changes + changes,
      missed: before.missed || missed,
    }));
  };
}

// NOTE: as long as there are rows, whichever view is looked at.
listenToChanges(
  (lot, heard) => {
    const more = counter.count(lot, heard);
    if (more > 0) useSince.setState(({ changes }) => ({ changes: changes + more }));
  },
  () => useSince.setState({ missed: true }),
);
