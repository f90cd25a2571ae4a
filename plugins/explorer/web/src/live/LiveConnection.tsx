import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { useSession } from "../session/session";
import { readChange, type Change } from "./changes";
import { takeChanges, useLive } from "./store";
import { follow } from "./stream";

const TOLD_EVERY = 150;
const COUNTED_EVERY = 2000;
/** So many heartbeats that do not come are a connection that is none any more. */
const MISSED = 3;
const SHORTEST_PATIENCE = 5000;

/** `heard` says when each of them came here, in milliseconds since 1970. */
export type ChangeListener = (changes: readonly Change[], heard: readonly number[]) => void;

const listeners = new Set<ChangeListener>();
const gapListeners = new Set<() => void>();

/**
 * Hear all changes of the graph that is looked at, in lots, and that some were missed; returns what
 * ends it.
 */
export function listenToChanges(listener: ChangeListener, onGap?: () => void): () => void {
  listeners.add(listener);
  if (onGap !== undefined) gapListeners.add(onGap);
  return () => {
    listeners.delete(listener);
    if (onGap !== undefined) gapListeners.delete(onGap);
  };
}

/** The one connection of the page to the events of its graph. It shows nothing. */
export function LiveConnection() {
  const { configuration, present, asOf, graphId, may } = useSession();
  const client = useQueryClient();
  const { events, heartbeat } = configuration;
  const allowed =
    may("digitaltwins/read") && may("digitaltwins/relationships/read") && may("models/read");

  const isPast = asOf !== null;
  useEffect(() => {
    // What was measured meanwhile stays; what a moment shows does not change.
    const { telemetry } = useLive.getState();
    useLive.setState({ ...useLive.getInitialState(), telemetry });
    if (isPast) return;
    if (!events || !allowed) {
      const why = events
        ? "You may not follow the changes of this graph."
        : "The service keeps no events (Events__Enabled).";
      useLive.setState({ state: "refused", why });
      return;
    }
    const stopping = new AbortController();
    let pending: Change[] = [];
    let heard: number[] = [];
    let counted = 0;
    let uncounted = false;
    // PERF: a flood of events is told in lots, so that the page draws between them.
    const telling = setInterval(() => {
      if (pending.length === 0 && !uncounted) return;
      const [lot, times] = [pending, heard];
      [pending, heard] = [[], []];
      uncounted ||= lot.some(changesCounts);
      if (uncounted && Date.now() - counted > COUNTED_EVERY) {
        counted = Date.now();
        uncounted = false;
        void client.invalidateQueries({ queryKey: ["counts", graphId] });
        void client.invalidateQueries({ queryKey: ["locations", graphId] });
      }
      if (lot.length === 0) return;
      takeChanges(lot);
      invalidate(client, graphId, lot);
      for (const listener of listeners) listener(lot, times);
    }, TOLD_EVERY);
    void follow(
      present.http,
      {
        onEvent: (event) => {
          const change = readChange(event);
          if (change === null) return;
          pending.push(change);
          heard.push(Date.now());
        },
        onGap: () => {
          void client.invalidateQueries();
          for (const tell of gapListeners) tell();
        },
        onState: (state, why) => useLive.setState({ state, why: why ?? null }),
      },
      stopping.signal,
      Math.max(heartbeat * MISSED * 1000, SHORTEST_PATIENCE),
    );
    return () => {
      stopping.abort();
      clearInterval(telling);
    };
  }, [client, present, isPast, graphId, events, heartbeat, allowed]);
  useEffect(() => {
    if (!isPast) return;
    return () => {
      // Nobody has told what changed while another moment was shown.
      void client.invalidateQueries();
      for (const tell of gapListeners) tell();
    };
  }, [client, isPast]);
  useEffect(() => () => useLive.setState({ telemetry: new Map() }), [graphId]);
  return null;
}

function changesCounts(change: Change): boolean {
  return change.kind === "model" || (change.kind !== "telemetry" && change.verb !== "update");
}

/** What was read of what has changed is old. */
function invalidate(client: QueryClient, graphId: string, changes: readonly Change[]): void {
  const keys = new Map<string, readonly string[]>();
  const add = (...key: string[]) => keys.set(key.join("\n"), key);
  for (const change of changes) {
    if (change.kind === "twin") add("twin", graphId, change.id);
    else if (change.kind === "model") add("models", graphId);
    else if (change.kind === "relationship") {
      add("relationship", graphId, change.sourceId, change.id);
      add("relationships", graphId, change.sourceId);
      if (change.targetId === null) add("incoming", graphId);
      else add("incoming", graphId, change.targetId);
    }
  }
  for (const queryKey of keys.values()) void client.invalidateQueries({ queryKey });
}
