import type { ModelIndex } from "./index";

/** A place in the tree: an interface of several bases stands at several places. */
export interface Place {
  /** The DTMIs from the root to here. */
  key: string;
  id: string;
  /** What stands below; where it is closed the first of it alone, with nothing below. */
  children: Place[];
}

/** The models that are shown; null for all. */
type Shown = ReadonlySet<string> | null;

const BETWEEN = " ";

/** A set of models of at most so many places is opened whole. */
const MOST_OPEN = 200;

/** The model that stands at a place. */
export function modelAt(key: string): string {
  return key.split(BETWEEN).at(-1) ?? "";
}

/**
 * The tree as far as it is open. PERF: bases that share heirs multiply their places by each level
 * (36 interfaces in 9 levels are 350,000), so nothing is built below what is closed.
 */
export function buildPlaces(
  index: ModelIndex,
  open: { has(key: string): boolean },
  shown: Shown,
): Place[] {
  const build = (ids: readonly string[], above: string): Place[] =>
    ids.map((id) => {
      const key = join(above, id);
      const below = belowOf(index, key, shown);
      if (open.has(key)) return { key, id, children: build(below, key) };
      // NOTE: an item of the tree knows by what is below it that it can be opened.
      const first = below
        .slice(0, 1)
        .map((one) => ({ key: join(key, one), id: one, children: [] }));
      return { key, id, children: first };
    });
  return build(rootsOf(index, shown), "");
}

/** The places that are seen, from the top down. */
export function listRows(places: readonly Place[], open: { has(key: string): boolean }): string[] {
  return places.flatMap(({ key, children }) =>
    open.has(key) ? [key, ...listRows(children, open)] : [key],
  );
}

/** What is open at first: all of a small set, else the roots, or the first place of each found. */
export function openAtFirst(index: ModelIndex, found: Shown, shown: Shown): Set<string> {
  const all = listPlaces(index, shown, MOST_OPEN);
  if (all !== null) return new Set(all);
  if (found === null) return new Set(rootsOf(index, shown));
  return new Set([...found].flatMap((id) => aboveOf(findPlace(index, id))));
}

/** Every place of the tree; null where there are more than `most`. */
function listPlaces(index: ModelIndex, shown: Shown, most: number): string[] | null {
  const places = rootsOf(index, shown);
  for (const key of places) {
    if (places.length > most) return null;
    for (const id of belowOf(index, key, shown)) places.push(join(key, id));
  }
  return places.length > most ? null : places;
}

/** A place of a model that few bases lead to; null where no root leads to it. */
export function findPlace(index: ModelIndex, id: string): string | null {
  const seen = new Set([id]);
  const ways = index.interfaces.has(id) ? [[id]] : [];
  for (const way of ways) {
    const bases = (index.interfaces.get(way[0] ?? "")?.extends ?? []).filter((base) =>
      index.interfaces.has(base),
    );
    if (bases.length === 0) return way.join(BETWEEN);
    for (const base of bases) {
      if (seen.has(base)) continue;
      seen.add(base);
      ways.push([base, ...way]);
    }
  }
  return null;
}

/** The places that a place stands below, from the root on. */
export function aboveOf(key: string | null): string[] {
  const parts = key?.split(BETWEEN) ?? [];
  return parts.slice(1).map((_one, at) => parts.slice(0, at + 1).join(BETWEEN));
}

function rootsOf(index: ModelIndex, shown: Shown): string[] {
  return index.roots().filter((id) => shown === null || shown.has(id));
}

function belowOf(index: ModelIndex, key: string, shown: Shown): string[] {
  const path = key.split(BETWEEN);
  return index
    .heirs(modelAt(key))
    .filter((id) => (shown === null || shown.has(id)) && !path.includes(id));
}

function join(above: string, id: string): string {
  return above === "" ? id : above + BETWEEN + id;
}
