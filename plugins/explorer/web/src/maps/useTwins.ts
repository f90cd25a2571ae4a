import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";

import type { Twin } from "../api/types";
import { useNotices } from "../app/notices";
import type { Change } from "../live/changes";
import { listenToChanges } from "../live/LiveConnection";
import { useLive } from "../live/store";
import { readTwins } from "../picture/ask";
import { useSession } from "../session/session";

/** Documents by the ids of their twins; those that are gone are missing. */
export type Twins = ReadonlyMap<string, Twin>;

const NONE: Twins = new Map();

/** The documents of these twins, which follow the changes of the graph. */
export function useTwins(ids: readonly string[]): {
  twins: Twins;
  /** Whether those that are missing are gone, rather than not read yet. */
  isSettled: boolean;
  error: Error | null;
} {
  const { graph, graphId, may } = useSession();
  const client = useQueryClient();
  const key = useMemo(() => ["drawn-twins", graphId, ids], [graphId, ids]);
  const { data, isFetching, isPlaceholderData, error } = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => indexTwins(await readTwins(graph, ids, signal)),
    enabled: ids.length > 0 && may("query/read"),
    staleTime: Infinity,
    // Others come while a plan is drawn: those that were read stay meanwhile.
    placeholderData: (before) => before,
  });
  useEffect(() => {
    const wanted = new Set(ids);
    return followTwins(
      (id) => wanted.has(id),
      (some) => readTwins(graph, some),
      (fresh, gone) => client.setQueryData<Twins>(key, (old) => mergeTwins(old, fresh, gone)),
    );
  }, [client, graph, ids, key]);
  const isSettled = data !== undefined && !isFetching && !isPlaceholderData;
  return { twins: data ?? NONE, isSettled, error };
}

export function indexTwins(twins: readonly Twin[]): Twins {
  return new Map(twins.map((one) => [one.$dtId, one]));
}

/** The same with what is new, and without what is gone. */
export function mergeTwins(
  old: Twins | undefined,
  fresh: readonly Twin[],
  gone: readonly string[],
): Twins {
  const merged = new Map([...(old ?? NONE), ...indexTwins(fresh)]);
  for (const id of gone) merged.delete(id);
  return merged;
}

/** Hears of changes of wanted twins, reads those that are left, and hands them on; returns the end. */
export function followTwins(
  isWanted: (id: string) => boolean,
  read: (ids: readonly string[]) => Promise<Twin[]>,
  take: (fresh: readonly Twin[], gone: readonly string[]) => void,
): () => void {
  let ended = false;
  const follow = async (changes: readonly Change[]): Promise<void> => {
    // The last word on each holds.
    const verbs = new Map<string, boolean>();
    for (const one of changes) {
      if (one.kind === "twin" && isWanted(one.id)) verbs.set(one.id, one.verb === "delete");
    }
    if (verbs.size === 0) return;
    const gone = [...verbs].flatMap(([id, isGone]) => (isGone ? [id] : []));
    const stale = [...verbs].flatMap(([id, isGone]) => (isGone ? [] : [id]));
    const fresh = stale.length === 0 ? [] : await read(stale);
    if (!ended) take(fresh, gone);
  };
  const stop = listenToChanges((changes) => {
    follow(changes).catch(useNotices.getState().sayError);
  });
  return () => {
    ended = true;
    stop();
  };
}

const UNLIT: ReadonlySet<string> = new Set();

/** Which of these twins have just changed. */
export function useLit(twins: { has(id: string): boolean }): ReadonlySet<string> {
  const lit = useLive((state) => state.lit);
  return useMemo(() => {
    const here = [...lit.keys()].filter((id) => twins.has(id));
    return here.length === 0 ? UNLIT : new Set(here);
  }, [lit, twins]);
}
