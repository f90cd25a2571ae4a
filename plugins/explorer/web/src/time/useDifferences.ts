import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { GraphClient } from "../api/graph";
import { PastHttp } from "../api/past";
import type { JsonObject } from "../api/types";
import { collectDocuments } from "../results/documents";
import { useResults } from "../results/store";
import { useSession } from "../session/session";
import { readDifferences, type Action, type Differences } from "./differences";
import { useMoment } from "./moment";

/** So often what changed until now is read anew, in milliseconds. */
const ANEW = 10_000;
/** So many rows of a query are looked at for what was there before. */
const ROWS = 2000;

/** What differs between the moment since which changes are shown and that which is shown. */
export function useDifferences(): {
  differences: Differences | null;
  error: Error | null;
  isLoading: boolean;
} {
  const { present, graphId, asOf, may } = useSession();
  const since = useMoment((state) => state.since);
  const include = may("digitaltwins/relationships/read") ? "twins,relationships" : "twins";
  const { data, error, isLoading } = useQuery({
    queryKey: ["differences", graphId, since, asOf, include],
    queryFn: ({ signal }) =>
      readDifferences(present, { from: since ?? 0, to: asOf }, include, signal),
    enabled: since !== null && may("digitaltwins/read"),
    refetchInterval: asOf === null ? ANEW : false,
    staleTime: asOf === null ? 0 : Infinity,
  });
  return { differences: since === null ? null : (data ?? null), error, isLoading };
}

const NOTHING: ReadonlySet<string> = new Set();

/** The twins that the query of the result found at the moment since which changes are shown. */
export function useFoundBefore(): ReadonlySet<string> {
  const { present, graphId, may } = useSession();
  const since = useMoment((state) => state.since);
  const { query, parameters, statistics } = useResults();
  const { data } = useQuery({
    queryKey: ["found-before", graphId, since, query, parameters],
    queryFn: async ({ signal }) => {
      const then = new PastHttp(present.http, new Date(since ?? 0).toISOString());
      const page = await new GraphClient(then).query(query, {
        parameters,
        pageSize: ROWS,
        signal,
      });
      return collectDocuments(page.value as JsonObject[]).twins.map((one) => one.$dtId);
    },
    enabled: since !== null && query !== "" && statistics === null && may("query/read"),
    staleTime: Infinity,
    // Then there may have been no such model; then the query found nothing.
    retry: false,
  });
  return useMemo(() => (data === undefined ? NOTHING : new Set(data)), [data]);
}

/** The action of each twin and relationship that differs, by id and by `edgeKey`. */
export function useActions(differences: Differences | null): ReadonlyMap<string, Action> | null {
  return useMemo(
    () =>
      differences === null
        ? null
        : new Map(differences.all.map((one) => [one.key, one.action] as const)),
    [differences],
  );
}
