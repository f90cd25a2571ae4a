import type { Relationship, Twin } from "../api/types";

/** More than these are not drawn: nobody could tell them apart, and drawing them takes long. */
export const MOST_NODES = 20_000;
export const MOST_EDGES = 60_000;

/** The key of a relationship, of source and id; the same as that of `live/store`. */
export function edgeKey(sourceId: string, id: string): string {
  return `${sourceId}\n${id}`;
}

/** Source and id of an edge by its key. */
export function readEdgeKey(key: string): { sourceId: string; id: string } {
  const at = key.indexOf("\n");
  return { sourceId: key.slice(0, at), id: key.slice(at + 1) };
}

/** The twins and relationships of a picture. Immutable: every change makes another one. */
export interface Contents {
  /** By id. A twin that is only known as an end of a relationship is null. */
  readonly nodes: ReadonlyMap<string, Twin | null>;
  /** By `edgeKey`. */
  readonly edges: ReadonlyMap<string, Relationship>;
  /** How many twins and relationships were left out, as there are too many. */
  readonly left: { readonly nodes: number; readonly edges: number };
}

export const EMPTY: Contents = {
  nodes: new Map(),
  edges: new Map(),
  left: { nodes: 0, edges: 0 },
};

/** With these too; ends of relationships that are not known become nodes without a document. */
export function addTo(
  contents: Contents,
  twins: readonly Twin[],
  relationships: readonly Relationship[],
): Contents {
  const nodes = new Map(contents.nodes);
  const edges = new Map(contents.edges);
  const left = { ...contents.left };
  const room = (id: string): boolean => {
    if (nodes.has(id)) return true;
    if (nodes.size < MOST_NODES) return true;
    left.nodes += 1;
    return false;
  };
  for (const twin of twins) if (room(twin.$dtId)) nodes.set(twin.$dtId, twin);
  for (const one of relationships) {
    const key = edgeKey(one.$sourceId, one.$relationshipId);
    if (!edges.has(key) && edges.size >= MOST_EDGES) {
      left.edges += 1;
      continue;
    }
    const ends = [one.$sourceId, one.$targetId];
    if (!ends.every(room)) continue;
    for (const end of ends) if (!nodes.has(end)) nodes.set(end, null);
    edges.set(key, one);
  }
  return { nodes, edges, left };
}

/** Without these twins and relationships, nor relationships that lose an end. */
export function removeFrom(
  contents: Contents,
  ids: ReadonlySet<string>,
  keys: ReadonlySet<string> = new Set(),
): Contents {
  return {
    nodes: new Map([...contents.nodes].filter(([id]) => !ids.has(id))),
    edges: new Map(
      [...contents.edges].filter(
        ([key, one]) => !keys.has(key) && !ids.has(one.$sourceId) && !ids.has(one.$targetId),
      ),
    ),
    left: contents.left,
  };
}

/** The relationships at each twin, in either direction. */
export function listNeighbours(
  edges: Iterable<Relationship>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  const add = (one: string, other: string): void => {
    const known = found.get(one);
    if (known === undefined) found.set(one, new Set([other]));
    else known.add(other);
  };
  for (const { $sourceId, $targetId } of edges) {
    add($sourceId, $targetId);
    add($targetId, $sourceId);
  }
  return found;
}

/** What hangs on a twin alone: its neighbours that have no other one. */
export function listLeaves(contents: Contents, id: string): string[] {
  const neighbours = listNeighbours(contents.edges.values());
  return [...(neighbours.get(id) ?? [])].filter(
    (one) => one !== id && [...(neighbours.get(one) ?? [])].every((at) => at === id || at === one),
  );
}

/** A shortest way between two twins over what is there, in either direction; null is none. */
export function findPath(contents: Contents, from: string, to: string): string[] | null {
  const neighbours = listNeighbours(contents.edges.values());
  const before = new Map<string, string | null>([[from, null]]);
  const queue = [from];
  for (const at of queue) {
    if (at === to) break;
    for (const next of neighbours.get(at) ?? []) {
      if (before.has(next)) continue;
      before.set(next, at);
      queue.push(next);
    }
  }
  if (!before.has(to)) return null;
  const path: string[] = [];
  for (let at: string | null = to; at !== null; at = before.get(at) ?? null) path.unshift(at);
  return path;
}

/** What a reader calls a twin: its name if it has one, else its id. */
export function labelOf(id: string, twin: Twin | null | undefined): string {
  for (const member of ["name", "displayName", "title"]) {
    const said = twin?.[member];
    if (typeof said === "string" && said.trim() !== "") return said;
  }
  return id;
}

/** The model of a twin; empty where its document is not known. */
export function modelOf(twin: Twin | null | undefined): string {
  return twin?.$metadata.$model ?? "";
}
