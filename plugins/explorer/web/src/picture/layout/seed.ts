import { hierarchy, pack, type HierarchyNode } from "d3-hierarchy";

import type { Place } from "../store";
import { buildParents, type Link } from "./hierarchy";

/** The radius of a node in the units of forces, in which they begin about as far apart as they end. */
const UNIT = 10;

interface Branch {
  /** The index of its node; -1 is the root of all. */
  at: number;
  children: Branch[];
}

/**
 * Where forces begin: every node amid what hangs on it, in circles within circles. From there what
 * belongs together only has to come to rest; from any other places it would have to find together,
 * and of thousands it does not.
 */
export function placeSeeds(nodes: readonly string[], links: readonly Link[]): Place[] {
  const parents = buildParents(nodes, links);
  const branches = new Map<string, Branch>();
  nodes.forEach((id, at) => branches.set(id, { at, children: [] }));
  const top: Branch = { at: -1, children: [] };
  for (const [id, branch] of branches) {
    (branches.get(parents.get(id) ?? "") ?? top).children.push(branch);
  }
  // A parent is a leaf of its own among its children: the first, which is in the middle.
  for (const branch of branches.values()) {
    if (branch.children.length > 0) branch.children.unshift({ at: branch.at, children: [] });
  }
  const root = hierarchy(top) as HierarchyNode<Branch> & { r: number };
  const places = nodes.map((): Place => ({ x: 0, y: 0 }));
  for (const node of pack<Branch>().radius(() => UNIT)(root)) {
    if (node.children === undefined && node.data.at >= 0) {
      places[node.data.at] = { x: node.x, y: node.y };
    }
  }
  return places;
}
