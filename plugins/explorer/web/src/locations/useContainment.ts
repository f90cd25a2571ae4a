import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { create } from "zustand";

import type { Counts } from "../models/counts";
import { useModels } from "../models/useModels";
import { readStored, storageKey, writeStored } from "../query/storage";
import { useSession } from "../session/session";
import { findByName, findByShape, listNames, type Containment } from "./containment";
import { readTop, readWay, sampleEdges, type Level, type Located } from "./read";

/** What was chosen in this browser instead of what was found, by the key of its storage. */
const useChosen = create<Record<string, Containment[] | null>>(() => ({}));

const NONE: readonly Containment[] = [];

export interface Contained {
  containment: readonly Containment[];
  /** The names that may be chosen. */
  names: readonly string[];
  /** Whether somebody chose it; else it was found by name and shape. */
  isChosen: boolean;
  /** Choose; null goes back to what was found. */
  choose(containment: readonly Containment[] | null): void;
  isLoading: boolean;
}

/** Which relationships of the graph say what is where: found, or chosen in this browser. */
export function useContainment(): Contained {
  const { configuration, graph, graphId, subject, may } = useSession();
  const { index, isLoading: isReading } = useModels();
  const key = storageKey({ base: configuration.base, graphId, subject }, "containment");
  const chosen = useChosen((state) => state[key]);
  const kept = useMemo(() => readChosen(readStored(key)), [key]);
  const declared = useMemo(() => listNames(index), [index]);
  const named = useMemo(() => findByName(declared), [declared]);
  const sampled = useQuery({
    queryKey: ["containment", graphId, declared],
    queryFn: ({ signal }) => sampleEdges(graph, declared, signal),
    enabled: !isReading && named.length === 0 && may("query/read"),
    staleTime: Infinity,
  });
  const edges = sampled.data;
  const shaped = useMemo(() => findByShape(edges ?? []), [edges]);
  const names = useMemo(() => {
    return [...new Set([...declared, ...(edges ?? []).map((one) => one.name)])].sort();
  }, [declared, edges]);
  const own = chosen === undefined ? kept : chosen;
  return {
    containment: own ?? (named.length > 0 ? named : shaped.length > 0 ? shaped : NONE),
    names,
    isChosen: own !== null,
    choose: (containment) => {
      const value = containment === null ? null : [...containment];
      useChosen.setState({ [key]: value });
      writeStored(key, value);
    },
    isLoading: isReading || sampled.isLoading,
  };
}

function readChosen(stored: unknown): Containment[] | null {
  if (!Array.isArray(stored)) return null;
  return (stored as Partial<Containment>[]).flatMap(({ name, direction }) =>
    typeof name === "string" && (direction === "down" || direction === "up")
      ? [{ name, direction }]
      : [],
  );
}

/** Where a twin is, from the top down; empty while it is read, and for what nothing contains. */
export function useWay(id: string | null): readonly Located[] {
  const { graph, graphId, may } = useSession();
  const { containment } = useContainment();
  const { data } = useQuery({
    queryKey: ["locations", graphId, "way", containment, id],
    queryFn: ({ signal }) => readWay(graph, containment, id ?? "", signal),
    enabled: id !== null && containment.length > 0 && may("query/read"),
  });
  return data ?? NOWHERE;
}

const NOWHERE: readonly Located[] = [];

/** What nothing contains; null while it is read. */
export function useTop(counts: Counts | null): {
  top: Level | null;
  error: Error | null;
  refetch: () => void;
} {
  const { graph, graphId, may } = useSession();
  const { containment } = useContainment();
  const { data, error, refetch } = useQuery({
    queryKey: ["locations", graphId, "top", containment],
    queryFn: ({ signal }) => readTop(graph, containment, counts, signal),
    enabled: counts !== null && containment.length > 0 && may("query/read"),
  });
  return { top: data ?? null, error, refetch: () => void refetch() };
}
