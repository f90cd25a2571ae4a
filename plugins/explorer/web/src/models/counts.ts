import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { useSession } from "../session/session";
import type { ModelIndex } from "./index";

// The service keeps these numbers: the query reads one row a model, however many twins there are.
const QUERY = "MATCH (t:Twin) RETURN t.`$metadata`.`$model` AS model, count(*) AS twins";

export interface Counts {
  /** The models that have twins, stored or not; those of most twins first. */
  ids: readonly string[];
  /** Twins whose model is exactly this one. */
  own(id: string): number;
  /** Those of its heirs too. */
  family(id: string): number;
  total: number;
}

/** How many twins there are by model; null while unknown, or where one may not query. */
export function useCounts(index: ModelIndex): Counts | null {
  const { graph, graphId, may } = useSession();
  const { data } = useQuery({
    queryKey: ["counts", graphId],
    queryFn: async ({ signal }) => {
      const counts = new Map<string, number>();
      let continuationToken: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof graph.query>> = await graph.query(QUERY, {
          signal,
          ...(continuationToken === null ? {} : { continuationToken }),
        });
        for (const row of page.value) counts.set(String(row["model"]), Number(row["twins"]));
        continuationToken = page.continuationToken;
      } while (continuationToken !== null);
      return counts;
    },
    enabled: may("query/read"),
  });
  return useMemo(() => (data === undefined ? null : buildCounts(data, index)), [data, index]);
}

export function buildCounts(counts: ReadonlyMap<string, number>, index: ModelIndex): Counts {
  const own = (id: string) => counts.get(id) ?? 0;
  const sum = (some: Iterable<number>) => [...some].reduce((all, one) => all + one, 0);
  return {
    ids: [...counts].sort((one, other) => other[1] - one[1]).map(([id]) => id),
    own,
    family: (id) => sum(index.family(id).map(own)),
    total: sum(counts.values()),
  };
}
