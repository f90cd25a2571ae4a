import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { GraphClient } from "../../api/graph";
import { useSession } from "../../session/session";
import { useTwins } from "../useTwins";
import { bindParts, type Bindings, type SceneParts } from "./parts";

/** Longer words are no ids and no names of twins. */
const LONGEST = 200;
const BATCH = 2000;

/** The twins of the parts of a scene, which follow the graph: a twin that comes is bound, too. */
export function useBound(scene: SceneParts, bindings: Bindings) {
  const { graph, graphId, may } = useSession();
  const words = useMemo(() => {
    const all = [...scene.parts.values()].flatMap((one) => one.words);
    return [...new Set(all)].filter((one) => one.length <= LONGEST).sort();
  }, [scene]);
  const named = useQuery({
    queryKey: ["scene-names", graphId, words],
    queryFn: ({ signal }) => readNamed(graph, words, signal),
    enabled: may("query/read"),
    staleTime: Infinity,
  });
  const ids = useMemo(() => {
    const hand = [...bindings.values()].filter((one) => one !== null);
    const byName = [...(named.data ?? []).values()].filter((one) => one.length === 1).flat();
    return [...new Set([...words, ...hand, ...byName])].sort();
  }, [words, bindings, named.data]);
  const { twins, isSettled, error } = useTwins(ids);
  const bound = useMemo(
    () => bindParts(scene, bindings, (id) => twins.has(id), named.data ?? new Map()),
    [scene, bindings, twins, named.data],
  );
  return { bound, twins, isSettled: isSettled && !named.isLoading, error: error ?? named.error };
}

/** The ids of the twins that have these words as their name. */
async function readNamed(
  graph: GraphClient,
  words: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>();
  for (let at = 0; at < words.length; at += BATCH) {
    const some = words.slice(at, at + BATCH);
    const text =
      "MATCH (t:Twin) WHERE t.name IN $some " +
      "RETURN t.name AS name, count(t) AS n, min(t.$dtId) AS id LIMIT 2000";
    const { value } = await graph.query(text, {
      parameters: { some },
      pageSize: BATCH,
      signal,
    });
    for (const { name, n, id } of value) {
      // Of several it matters only that they are.
      found.set(
        String(name),
        Array.from({ length: Number(n) }, () => String(id)),
      );
    }
  }
  return found;
}
