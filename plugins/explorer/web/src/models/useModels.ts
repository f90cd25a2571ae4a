import { useQuery } from "@tanstack/react-query";

import type { ModelEntry } from "../api/types";
import { useSession } from "../session/session";
import { ModelIndex } from "./index";

const NONE = new ModelIndex([]);

// PERF: one index a list, however many components ask for it.
const built = new WeakMap<readonly ModelEntry[], ModelIndex>();

function build(models: readonly ModelEntry[]): ModelIndex {
  let index = built.get(models);
  if (index === undefined) {
    index = new ModelIndex(models, navigator.languages);
    built.set(models, index);
  }
  return index;
}

/** The models of the graph that is looked at; read once, anew when a change says so. */
export function useModels(): { index: ModelIndex; isLoading: boolean; error: Error | null } {
  const { graph, graphId, may } = useSession();
  const { data, isLoading, error } = useQuery({
    queryKey: ["models", graphId],
    queryFn: ({ signal }) => graph.listModels(signal),
    enabled: may("models/read"),
    staleTime: Infinity,
  });
  return { index: data === undefined ? NONE : build(data), isLoading, error };
}
