import { useEffect, useMemo } from "react";

import type { GraphClient } from "../api/graph";
import type { JsonObject } from "../api/types";
import { collectDocuments } from "../results/documents";
import { useResults } from "../results/store";
import { readDifferences, renderDifferences, type Differences } from "./address";
import { isPastPictured, pictureRows, useFill } from "./fill";
import type { Contents } from "./model";
import { usePicture } from "./store";

/**
 * Keeps in the address what came into the picture and what was taken out of it since its rows were
 * drawn, so that a reload, a link and the way back show it again. Whether the address holds it.
 */
export function usePictureAddress(
  graph: GraphClient,
  rows: JsonObject[],
  contents: Contents,
): boolean {
  const overlaid = usePicture((state) => state.overlays);
  const drawn = useFill((state) => state.drawn);
  const written = useMemo(() => {
    // Before all is there that the address names, it would be forgotten.
    if (overlaid || drawn !== rows || rows.length === 0) return null;
    const { hash } = window.location;
    const found = listDifferences(rows, contents);
    return renderDifferences(hash, isPastPictured() ? keepMissing(found, hash, contents) : found);
  }, [contents, drawn, overlaid, rows]);
  useEffect(() => {
    const { hash, pathname, search } = window.location;
    // What is written in the editor, and not run, has no address.
    if (written === null || hash === "" || written.fragment === hash) return;
    window.history.replaceState(window.history.state, "", pathname + search + written.fragment);
  }, [written]);
  useEffect(() => {
    // The way back to another picture of the same query; of another query the rows come anew.
    const follow = (): void => {
      const { hash } = window.location;
      const asked = new URLSearchParams(hash.slice(1)).get("query");
      if (written === null || written.fragment === hash) return;
      if (asked !== useResults.getState().query) return;
      usePicture.getState().takeRows([]);
      void pictureRows(graph, rows);
    };
    window.addEventListener("popstate", follow);
    return () => window.removeEventListener("popstate", follow);
  }, [graph, rows, written]);
  return written?.isKept ?? true;
}

/** What was not there at an earlier moment is not taken out: it comes back with another moment. */
function keepMissing(found: Differences, hash: string, { nodes }: Contents): Differences {
  const { added, removed } = readDifferences(hash);
  return {
    added: [...new Set([...found.added, ...added])],
    removed: [...new Set([...found.removed, ...removed.filter((id) => !nodes.has(id))])],
  };
}

/** What came into the picture of these rows, and what was taken out of it. */
export function listDifferences(rows: JsonObject[], contents: Contents): Differences {
  const { twins, relationships } = collectDocuments(rows);
  const ends = relationships.flatMap((one) => [one.$sourceId, one.$targetId]);
  const base = new Set([...twins.map((one) => one.$dtId), ...ends]);
  return {
    added: [...contents.nodes.keys()].filter((id) => !base.has(id)),
    removed: contents.left.nodes > 0 ? [] : [...base].filter((id) => !contents.nodes.has(id)),
  };
}
