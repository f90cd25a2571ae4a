import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";

import type { ModelEntry } from "../api/types";
import { useStyle } from "../picture/styleStore";
import { readStored, storageKey, writeStored, type Keeper } from "../query/storage";
import { useSession } from "../session/session";
import { useSharedStyle } from "../workspaces/sharedStyle";
import { ModelIndex } from "./index";

const NONE = new ModelIndex([]);

// PERF: one index a list, however many components ask for it.
const built = new WeakMap<readonly ModelEntry[], ModelIndex>();

function build(models: readonly ModelEntry[], keeper: Keeper): ModelIndex {
  let index = built.get(models);
  if (index === undefined) {
    const key = storageKey(keeper, "colors");
    const known = readColors(readStored(key));
    index = new ModelIndex(models, navigator.languages, known);
    built.set(models, index);
    // What was deleted comes back with its colour.
    writeStored(key, Object.fromEntries([...known, ...index.colors].slice(-MOST_COLORS)));
  }
  return index;
}

const MOST_COLORS = 2000;

/** The colours that were given out, out of what was kept. */
function readColors(kept: unknown): ReadonlyMap<string, string> {
  const entries = typeof kept === "object" && kept !== null ? Object.entries(kept) : [];
  return new Map(
    entries.filter(
      (entry): entry is [string, string] =>
        typeof entry[1] === "string" && /^#[0-9a-f]{6}$/.test(entry[1]),
    ),
  );
}

// PERF: one for all components, so that what hangs on it is built once.
const dressed = new WeakMap<ModelIndex, [object, ModelIndex]>();

function dress(index: ModelIndex, chosen: Parameters<ModelIndex["dress"]>[0]): ModelIndex {
  const before = dressed.get(index);
  if (before?.[0] === chosen) return before[1];
  const made = index.dress(chosen);
  dressed.set(index, [chosen, made]);
  return made;
}

/** The models of the graph that is looked at; read once, anew when a change says so. */
export function useModels(): { index: ModelIndex; isLoading: boolean; error: Error | null } {
  const { graph, graphId, may, configuration, subject } = useSession();
  const chosen = useStyle((state) => state.style.models);
  const { data, isLoading, error } = useQuery({
    queryKey: ["models", graphId],
    queryFn: ({ signal }) => graph.listModels(signal),
    enabled: may("models/read"),
    staleTime: Infinity,
  });
  const { base } = configuration;
  const { data: shared } = useSharedStyle();
  useEffect(() => {
    useStyle.getState().open({ base, graphId, subject });
    if (shared !== undefined) useStyle.getState().share(shared.style);
  }, [base, graphId, subject, shared]);
  const index = data === undefined ? NONE : dress(build(data, { base, graphId, subject }), chosen);
  return { index, isLoading, error };
}
