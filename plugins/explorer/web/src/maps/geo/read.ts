import type { Geometry } from "geojson";

import type { GraphClient } from "../../api/graph";
import type { JsonObject, Twin } from "../../api/types";
import { quoteName } from "../../query/names";
import { valueAt } from "../../results/columns";
import { collectDocuments } from "../../results/documents";
import { pickHighest, readGeometries } from "./geometry";
import type { GeoProperty } from "./properties";

/** Of one property so many twins are read at most. */
export const MOST_TWINS = 5000;
const PAGE = 1000;

export interface Located {
  twins: Twin[];
  /** Whether there are more of a property than are read. */
  more: boolean;
}

/** All twins that have a value in one of these properties. */
export async function readLocated(
  graph: GraphClient,
  properties: readonly GeoProperty[],
  signal?: AbortSignal,
): Promise<Located> {
  const found = new Map<string, Twin>();
  let more = false;
  for (const { path, models } of properties) {
    const value = path.split(".").map(quoteName).join(".");
    for (const model of models) {
      const text = `MATCH (t:${quoteName(model)}) WHERE t.${value} IS NOT NULL RETURN t`;
      let token: string | null = null;
      let read = 0;
      do {
        const page: Awaited<ReturnType<GraphClient["query"]>> = await graph.query(text, {
          pageSize: PAGE,
          ...(token === null ? {} : { continuationToken: token }),
          ...(signal === undefined ? {} : { signal }),
        });
        read += page.value.length;
        for (const twin of collectDocuments(page.value).twins) found.set(twin.$dtId, twin);
        token = page.continuationToken;
      } while (token !== null && read < MOST_TWINS);
      more ||= token !== null;
    }
  }
  return { twins: [...found.values()], more };
}

export interface Geometries {
  /** By the id of the twin. */
  shapes: ReadonlyMap<string, Geometry[]>;
  /** Twins whose values are no geometries, and why. */
  problems: readonly { id: string; path: string; problem: string }[];
}

/** What is drawn of each twin: of all its properties that hold geometries, those of highest rank. */
export function locateTwins(twins: Iterable<Twin>, paths: readonly string[]): Geometries {
  const shapes = new Map<string, Geometry[]>();
  const problems: { id: string; path: string; problem: string }[] = [];
  for (const twin of twins) {
    const all: Geometry[] = [];
    for (const path of paths) {
      const value = valueAt(twin as JsonObject, path.split("."));
      if (value === undefined || value === null || value === "") continue;
      const read = readGeometries(value);
      if ("geometries" in read) all.push(...read.geometries);
      else problems.push({ id: twin.$dtId, path, problem: read.problem });
    }
    if (all.length > 0) shapes.set(twin.$dtId, pickHighest(all));
  }
  return { shapes, problems };
}
