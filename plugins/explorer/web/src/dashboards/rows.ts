import { useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";

import type { GraphClient } from "../api/graph";
import type { JsonObject } from "../api/types";
import type { Change } from "../live/changes";
import { listenToChanges } from "../live/LiveConnection";
import { useLive } from "../live/store";
import { useSession } from "../session/session";
import { SPANS, type Span } from "./content";
import { mayChange, readReach } from "./reach";
import { inTurn } from "./turns";

/** So many rows of a query are shown in a tile. */
export const MOST_ROWS = 200;
/** The changes of so long are taken together, in milliseconds. */
const PAUSE = 3000;
/** The first change after a while is seen sooner. */
const FIRST_PAUSE = 400;
/** How often tiles are read anew that nothing tells of: without events, or as the time goes on. */
const POLL = 30_000;

export interface TileRows {
  rows: JsonObject[];
  more: boolean;
}

const keyOf = (graphId: string, text: string): string[] => ["tile", graphId, text];

async function read(
  graph: GraphClient,
  text: string,
  signal: AbortSignal,
  asOf?: string,
): Promise<TileRows> {
  const options = { pageSize: MOST_ROWS, signal, ...(asOf === undefined ? {} : { asOf }) };
  const page = await inTurn(() => graph.query(text, options), signal);
  const rows = page.value.slice(0, MOST_ROWS);
  return { rows, more: page.continuationToken !== null || page.value.length > MOST_ROWS };
}

/**
 * The rows of a query; tiles of the same query share them. While `isShown` is not so, as out of
 * sight, nothing is asked, and what has changed is asked for when it comes into sight.
 */
export function useTileRows(text: string, isShown: boolean) {
  const { graph, graphId } = useSession();
  const isVisible = useDocumentVisible();
  const isFollowed = useLive(({ state }) => state === "live" || state === "connecting");
  const { isTimed } = useMemo(() => readReach(text), [text]);
  return useQuery({
    queryKey: keyOf(graphId, text),
    queryFn: ({ signal }) => read(graph, text, signal),
    enabled: isShown && isVisible && text.trim() !== "",
    staleTime: isFollowed && !isTimed ? Infinity : POLL,
    refetchInterval: isFollowed && !isTimed ? false : POLL,
  });
}

const HOURS: Readonly<Record<Span, number>> = { "1h": 1, "24h": 24, "7d": 168 };
/** What was so long ago is asked anew so often. */
const PAST_PACE = 300_000;

/** The rows that the query answered so long ago; of a graph that keeps no history, an error. */
export function usePastRows(text: string, since: Span | null, isShown: boolean) {
  const { graph, graphId } = useSession();
  const isVisible = useDocumentVisible();
  return useQuery({
    queryKey: ["tile", graphId, text, "since", since],
    queryFn: ({ signal }) => {
      const ago = HOURS[since ?? SPANS[0]] * 3_600_000;
      return read(graph, text, signal, new Date(Date.now() - ago).toISOString());
    },
    enabled: since !== null && isShown && isVisible && text.trim() !== "",
    staleTime: PAST_PACE,
    refetchInterval: PAST_PACE,
    retry: false,
  });
}

function useDocumentVisible(): boolean {
  return useSyncExternalStore(
    (changed) => {
      document.addEventListener("visibilitychange", changed);
      return () => document.removeEventListener("visibilitychange", changed);
    },
    () => document.visibilityState === "visible",
  );
}

/** Has queries run again when something of them may have changed: taken together, with pauses. */
export function useRefresh(texts: readonly string[]): void {
  const { graphId } = useSession();
  const client = useQueryClient();
  const joined = [...new Set(texts)].sort().join("\0");
  useEffect(() => {
    const refresher = new Refresher(client, graphId, joined.split("\0"));
    const end = listenToChanges((changes) => refresher.take(changes));
    return () => {
      end();
      refresher.end();
    };
  }, [client, graphId, joined]);
}

/** Which queries are old, and when they are said to be. */
export class Refresher {
  private readonly reaches;
  private readonly old = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = 0;

  constructor(
    private readonly client: QueryClient,
    private readonly graphId: string,
    texts: readonly string[],
  ) {
    this.reaches = new Map(texts.map((text) => [text, readReach(text)]));
  }

  take(changes: readonly Change[]): void {
    for (const [text, reach] of this.reaches) {
      if (this.old.has(text)) continue;
      const kept = this.client.getQueryData<TileRows>(keyOf(this.graphId, text));
      if (changes.some((change) => mayChange(reach, kept?.rows ?? [], change))) this.old.add(text);
    }
    if (this.old.size > 0) this.wait();
  }

  end(): void {
    clearTimeout(this.timer);
  }

  private wait(): void {
    const rest = this.last + PAUSE - Date.now();
    this.timer ??= setTimeout(() => this.tell(), Math.max(FIRST_PAUSE, rest));
  }

  private tell(): void {
    this.timer = undefined;
    this.last = Date.now();
    for (const text of this.old) {
      const query = { queryKey: keyOf(this.graphId, text), exact: true };
      // NOTE: what is being read may be older than the change, and ending it each time would let a
      // slow query never come to its end under steady changes: it is read once more afterwards.
      if (this.client.isFetching(query) > 0) continue;
      this.old.delete(text);
      void this.client.invalidateQueries(query);
    }
    if (this.old.size > 0) this.wait();
  }
}
