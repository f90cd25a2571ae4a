import type { ModelIndex } from "../models/index";

/** A relationship that says what is where: `down` leads from the whole to its parts, `up` back. */
export interface Containment {
  name: string;
  direction: "down" | "up";
}

/** A relationship as it was found: from where to where. */
export interface Edge {
  name: string;
  source: string;
  target: string;
}

/** Names that say it in RealEstateCore, in Brick, and in graphs that were made by hand. */
const DOWN = new Set(
  `contains includes encloses hosts has_part has_child has_children has_room has_space has_floor
  has_level has_storey has_building has_zone has_device has_equipment has_asset has_member
  has_component has_point is_location_of is_parent_of location_of parent_of`
    .split(/\s+/)
    .map(foldName),
);
const UP = new Set(
  `part_of is_part_of contained_in is_contained_in contained_by is_contained_by included_in
  is_included_in located_in is_located_in location has_location is_in in_room in_building parent
  has_parent is_child_of child_of belongs_to is_point_of is_device_of is_equipment_of`
    .split(/\s+/)
    .map(foldName),
);

function foldName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** What relationships of this name say by it; null where it says nothing of the kind. */
export function readDirection(name: string): Containment["direction"] | null {
  const folded = foldName(name);
  if (DOWN.has(folded)) return "down";
  return UP.has(folded) ? "up" : null;
}

/** The names of relationships that models declare, each once. */
export function listNames(index: ModelIndex): string[] {
  const found = new Set<string>();
  for (const { own } of index.interfaces.values()) {
    for (const one of own) if (one.kind === "Relationship") found.add(one.name);
  }
  return [...found].sort();
}

/** The containment that some of these names say. */
export function findByName(names: readonly string[]): Containment[] {
  return names.flatMap((name) => {
    const direction = readDirection(name);
    return direction === null ? [] : [{ name, direction }];
  });
}

/**
 * The name whose relationships look the most like containment: each part has one whole, a whole
 * has several parts, and nothing contains itself. Several levels count more than many parts.
 */
export function findByShape(edges: readonly Edge[]): Containment[] {
  let [best, most]: [Containment | null, number] = [null, 0];
  for (const [name, some] of groupBy(edges)) {
    for (const direction of ["down", "up"] as const) {
      const parents = readParents(some, direction);
      if (parents === null) continue;
      const wholes = new Set(parents.values());
      // Pairs side by side are no tree.
      if (parents.size < 2 * wholes.size) continue;
      const depth = measureDepth(parents);
      const rank = depth === null ? 0 : depth * 1000 + parents.size;
      if (rank > most) [best, most] = [{ name, direction }, rank];
    }
  }
  return best === null ? [] : [best];
}

function groupBy(edges: readonly Edge[]): Map<string, Edge[]> {
  const found = new Map<string, Edge[]>();
  for (const one of edges) found.set(one.name, [...(found.get(one.name) ?? []), one]);
  return found;
}

/** The whole of each part; null where a part has several. */
function readParents(
  edges: readonly Edge[],
  direction: Containment["direction"],
): Map<string, string> | null {
  const parents = new Map<string, string>();
  for (const { source, target } of edges) {
    const [whole, part] = direction === "down" ? [source, target] : [target, source];
    if ((parents.get(part) ?? whole) !== whole) return null;
    parents.set(part, whole);
  }
  return parents;
}

/** How many levels lie below the top; null where something contains itself. */
function measureDepth(parents: ReadonlyMap<string, string>): number | null {
  let deepest = 0;
  for (const start of parents.keys()) {
    let depth = 0;
    for (let at = parents.get(start); at !== undefined; at = parents.get(at)) {
      depth += 1;
      if (depth > parents.size) return null;
    }
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

const INVERSE: readonly [string, string][] = [
  ["haspart", "ispartof"],
  ["includes", "includedin"],
  ["contains", "containedin"],
  ["contains", "iscontainedin"],
  ["contains", "ispartof"],
  ["islocationof", "haslocation"],
  ["islocationof", "locatedin"],
  ["haspoint", "ispointof"],
];

/** Whether a part may be told of by its whole and by itself, so that counts would count it twice. */
export function isToldTwice(containment: readonly Containment[]): boolean {
  const names = new Set(containment.map(({ name }) => foldName(name)));
  return INVERSE.some(([down, up]) => names.has(down) && names.has(up));
}
