import type { ModelIndex } from "../models/index";
import { passesFacets, type FacetChoice } from "./facetFilter";
import { compileFilter } from "./filter";
import { labelOf, listNeighbours, modelOf, type Contents } from "./model";

/** What of a picture is not to be seen. */
export interface Hiding {
  models: ReadonlySet<string>;
  names: ReadonlySet<string>;
  ids: ReadonlySet<string>;
  filter: string;
  /** What properties have to have; a twin passes all of them. */
  facets: readonly FacetChoice[];
  /** A filter that is being written and cannot be meant so: `filter` goes on holding. */
  draft: string | null;
  /** Only these and their neighbours; null is all. */
  focus: ReadonlySet<string> | null;
}

/** Whether anything is kept out of sight. */
export function hidesAny({ models, names, ids, filter, facets, focus }: Hiding): boolean {
  const hidden = models.size + names.size + ids.size + facets.length;
  return hidden > 0 || filter.trim() !== "" || focus !== null;
}

export interface Visible {
  nodes: ReadonlySet<string>;
  edges: ReadonlySet<string>;
}

/** The twins and relationships that are left to be seen. */
export function listVisible(contents: Contents, hiding: Hiding, index: ModelIndex): Visible {
  const passes = compileFilter(hiding.filter);
  const near = hiding.focus === null ? null : withNeighbours(contents, hiding.focus);
  const nodes = new Set<string>();
  for (const [id, twin] of contents.nodes) {
    const model = modelOf(twin);
    if (hiding.ids.has(id) || hiding.models.has(model)) continue;
    if (near !== null && !near.has(id)) continue;
    if (!passesFacets(hiding.facets, twin)) continue;
    if (passes([id, labelOf(id, twin), model, index.label(model)], twin)) nodes.add(id);
  }
  const edges = new Set<string>();
  for (const [key, one] of contents.edges) {
    if (hiding.names.has(one.$relationshipName)) continue;
    if (nodes.has(one.$sourceId) && nodes.has(one.$targetId)) edges.add(key);
  }
  return { nodes, edges };
}

function withNeighbours(contents: Contents, ids: ReadonlySet<string>): ReadonlySet<string> {
  const neighbours = listNeighbours(contents.edges.values());
  return new Set([...ids].flatMap((id) => [id, ...(neighbours.get(id) ?? [])]));
}

export interface Entry {
  /** A DTMI, or the name of a relationship. */
  id: string;
  /** How many are in the picture, and how many of those are to be seen. */
  count: number;
  shown: number;
}

/** The models and relationship names of a picture with their numbers, the most first. */
export function listLegend(
  contents: Contents,
  visible: Visible,
): { models: Entry[]; names: Entry[] } {
  const models = new Map<string, Entry>();
  const names = new Map<string, Entry>();
  const count = (into: Map<string, Entry>, id: string, isShown: boolean): void => {
    const entry = into.get(id) ?? { id, count: 0, shown: 0 };
    entry.count += 1;
    if (isShown) entry.shown += 1;
    into.set(id, entry);
  };
  for (const [id, twin] of contents.nodes) count(models, modelOf(twin), visible.nodes.has(id));
  for (const [key, one] of contents.edges) {
    count(names, one.$relationshipName, visible.edges.has(key));
  }
  return { models: byCount(models), names: byCount(names) };
}

function byCount(entries: ReadonlyMap<string, Entry>): Entry[] {
  return [...entries.values()].sort(
    (one, other) => other.count - one.count || one.id.localeCompare(other.id),
  );
}
