import { useEffect } from "react";

import type { GraphClient } from "../api/graph";
import { useNotices } from "../app/notices";
import type { Change } from "../live/changes";
import { listenToChanges } from "../live/LiveConnection";
import { readRelationships, readTwins } from "./ask";
import { edgeKey } from "./model";
import { usePicture } from "./store";

/** Keeps the picture with the graph: what changes there changes here, and what goes goes. */
export function useLiveContents(graph: GraphClient): void {
  useEffect(
    () =>
      listenToChanges((changes) => {
        follow(graph, changes).catch(useNotices.getState().sayError);
      }),
    [graph],
  );
}

async function follow(graph: GraphClient, changes: readonly Change[]): Promise<void> {
  const { contents, remove } = usePicture.getState();
  const { gone, cut, stale, made } = sortChanges(changes, contents.nodes, contents.edges);
  if (gone.length > 0 || cut.length > 0) remove(gone, cut);
  // PERF: one query for all that came, as imports make thousands.
  const [twins, relationships] = await Promise.all([
    readTwins(graph, stale),
    readRelationships(graph, made),
  ]);
  // Meanwhile they may have left the picture.
  const { contents: now, add } = usePicture.getState();
  const here = (id: string): boolean => now.nodes.has(id);
  const kept = twins.filter((one) => here(one.$dtId));
  const drawn = relationships.filter((one) => here(one.$sourceId) && here(one.$targetId));
  if (kept.length > 0 || drawn.length > 0) add(kept, drawn);
}

interface Sorted {
  gone: string[];
  /** Edge keys. */
  cut: string[];
  stale: string[];
  made: { sourceId: string; id: string }[];
}

/** What changes mean for a picture: the last word on each twin and relationship holds. */
export function sortChanges(
  changes: readonly Change[],
  nodes: ReadonlyMap<string, unknown>,
  edges: ReadonlyMap<string, unknown>,
): Sorted {
  const twins = new Map<string, "gone" | "stale">();
  const drawn = new Map<string, { sourceId: string; id: string } | null>();
  for (const change of changes) {
    if (change.kind === "twin" && nodes.has(change.id)) {
      twins.set(change.id, change.verb === "delete" ? "gone" : "stale");
    } else if (change.kind === "relationship") {
      const { sourceId, id, targetId, verb } = change;
      const key = edgeKey(sourceId, id);
      if (verb === "delete") drawn.set(key, null);
      else if (verb === "create" && nodes.has(sourceId) && nodes.has(targetId ?? "")) {
        drawn.set(key, { sourceId, id });
      }
    }
  }
  return {
    gone: [...twins].flatMap(([id, what]) => (what === "gone" ? [id] : [])),
    stale: [...twins].flatMap(([id, what]) => (what === "stale" ? [id] : [])),
    cut: [...drawn].flatMap(([key, one]) => (one === null && edges.has(key) ? [key] : [])),
    made: [...drawn.values()].filter((one) => one !== null),
  };
}
