import type { Relationship } from "../api/types";
import type { Containment } from "../locations/containment";
import { buildParents, type Link } from "./layout/hierarchy";
import { edgeKey, type Contents } from "./model";
import type { Visible } from "./visible";

/** With more twins to be seen than these, what contains others is drawn in their place. */
export const MOST_UNFOLDED = 5000;
/** So many are drawn at first: whole levels of what contains what, as far as they fit. */
const AIM = 400;

/** What is drawn of a picture where twins stand for all that they contain. */
export interface Folding {
  /** What is drawn. A relationship to a twin that is not leads to the one that stands for it. */
  contents: Contents;
  visible: Visible;
  /** How many twins each folded one stands for, itself left out. */
  within: ReadonlyMap<string, number>;
  /** Of those that are drawn the ones whose contents are drawn too. */
  open: ReadonlySet<string>;
  /** What each twin is contained in, as drawn. */
  parents: ReadonlyMap<string, string>;
  /** The twin that is drawn for each that is to be seen. */
  shownFor: ReadonlyMap<string, string>;
}

/**
 * Fold what is to be seen: relationships that say what is where come first, the others hang up what
 * is still alone. `opened` says of twins that somebody has opened or folded which of the two.
 */
export function foldContents(
  contents: Contents,
  visible: Visible,
  containment: readonly Containment[],
  opened: ReadonlyMap<string, boolean>,
): Folding {
  const edges = [...visible.edges].flatMap((key) => contents.edges.get(key) ?? []);
  const ids = [...visible.nodes];
  const parents = findParents(ids, edges, containment);
  const children = new Map<string, string[]>();
  const roots: string[] = [];
  for (const id of ids) {
    const parent = parents.get(id);
    if (parent === undefined) roots.push(id);
    else if (children.get(parent)?.push(id) === undefined) children.set(parent, [id]);
  }
  const open = new Set(listOpenAtFirst(roots, children));
  for (const [id, isOpen] of opened) if (isOpen) open.add(id);
  for (const [id, isOpen] of opened) if (!isOpen) open.delete(id);
  const shown = listShown(roots, children, open);
  const shownFor = new Map<string, string>();
  const within = new Map<string, number>();
  for (const id of shown) {
    if (open.has(id)) {
      shownFor.set(id, id);
      continue;
    }
    const members = listBelow(id, children);
    for (const one of members) shownFor.set(one, id);
    if (members.length > 1) within.set(id, members.length - 1);
  }
  const drawn = joinEdges(edges, shownFor);
  return {
    contents: {
      nodes: new Map(shown.map((id) => [id, contents.nodes.get(id) ?? null])),
      edges: drawn,
      left: contents.left,
    },
    visible: { nodes: new Set(shown), edges: new Set(drawn.keys()) },
    within,
    open: new Set(shown.filter((id) => open.has(id) && children.has(id))),
    parents,
    shownFor,
  };
}

function findParents(
  ids: readonly string[],
  edges: readonly Relationship[],
  containment: readonly Containment[],
): ReadonlyMap<string, string> {
  const directions = new Map(containment.map(({ name, direction }) => [name, direction]));
  const links = edges.map(({ $sourceId, $targetId, $relationshipName }): Link => {
    return { source: $sourceId, target: $targetId, name: $relationshipName };
  });
  const known = links.flatMap(({ source, target, name }): [string, string][] => {
    const direction = directions.get(name);
    if (direction === undefined) return [];
    return [direction === "down" ? [target, source] : [source, target]];
  });
  return buildParents(ids, links, known);
}

type Children = ReadonlyMap<string, readonly string[]>;

/** Level by level from the top what is open, as long as all that is drawn then is few enough. */
function listOpenAtFirst(roots: readonly string[], children: Children): string[] {
  const open: string[] = [];
  let shown = roots.length;
  let level = roots;
  for (;;) {
    const wholes = level.filter((id) => children.has(id));
    const below = wholes.flatMap((id) => children.get(id) ?? []);
    shown += below.length;
    if (wholes.length === 0) return open;
    // A picture of one twin says nothing, however many are in it.
    if (shown > AIM && level.length > 1) return open;
    open.push(...wholes);
    level = below;
  }
}

function listShown(
  roots: readonly string[],
  children: Children,
  open: ReadonlySet<string>,
): string[] {
  const shown = [...roots];
  // It grows on the way: what is open brings what is in it.
  for (const id of shown)
    if (open.has(id)) for (const one of children.get(id) ?? []) shown.push(one);
  return shown;
}

function listBelow(id: string, children: Children): string[] {
  const found = [id];
  for (const one of found) for (const below of children.get(one) ?? []) found.push(below);
  return found;
}

/** Of the relationships between two that are drawn one of each name and direction. */
function joinEdges(
  edges: readonly Relationship[],
  shownFor: ReadonlyMap<string, string>,
): Map<string, Relationship> {
  const seen = new Set<string>();
  const drawn = new Map<string, Relationship>();
  for (const one of edges) {
    const source = shownFor.get(one.$sourceId);
    const target = shownFor.get(one.$targetId);
    if (source === undefined || target === undefined) continue;
    const isOwn = source === one.$sourceId && target === one.$targetId;
    if (!isOwn) {
      const way = `${source}\n${target}\n${one.$relationshipName}`;
      if (source === target || seen.has(way)) continue;
      seen.add(way);
    }
    const key = edgeKey(one.$sourceId, one.$relationshipId);
    drawn.set(key, isOwn ? one : { ...one, $sourceId: source, $targetId: target });
  }
  return drawn;
}

/** What has to be opened so that these are drawn themselves. */
export function listAround(folding: Folding, ids: Iterable<string>): string[] {
  const found: string[] = [];
  for (const id of ids) {
    const shown = folding.shownFor.get(id);
    if (shown === undefined || shown === id) continue;
    for (let at = folding.parents.get(id); at !== undefined; at = folding.parents.get(at)) {
      found.push(at);
      if (at === shown) break;
    }
  }
  return found;
}
