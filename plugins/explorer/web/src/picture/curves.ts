import type { Relationship } from "../api/types";

/** How far a curve bends away from its neighbour, as a share of its length. */
const STEP = 0.25;
/** The outermost bend: further out one would not see where a curve leads. */
const MOST = 0.75;

/**
 * How relationships between the same two twins bend, so that they do not lie on one line, whichever
 * way they lead. By key; those that are not listed are straight, and those that have to be are.
 */
export function listCurves(
  edges: ReadonlyMap<string, Relationship>,
  isStraight: (one: Relationship) => boolean = () => false,
): ReadonlyMap<string, number> {
  const alike = new Map<string, string[]>();
  for (const [key, { $sourceId, $targetId }] of edges) {
    if ($sourceId === $targetId) continue;
    // Ids hold no line breaks.
    const ends = $sourceId < $targetId ? [$sourceId, $targetId] : [$targetId, $sourceId];
    const pair = ends.join("\n");
    const known = alike.get(pair);
    if (known === undefined) alike.set(pair, [key]);
    else known.push(key);
  }
  const curves = new Map<string, number>();
  for (const pair of alike.values()) {
    const keys = leaveMiddle(pair, (key) => {
      const one = edges.get(key);
      return one !== undefined && isStraight(one);
    });
    const middle = (keys.length - 1) / 2;
    const step = Math.min(STEP, MOST / Math.max(1, middle));
    keys.forEach((key, at) => {
      const one = edges.get(key);
      if (one === undefined || at === middle) return;
      // A bend is to one side of the way from source to target: seen from there it turns around.
      const side = one.$sourceId < one.$targetId ? 1 : -1;
      curves.set(key, side * step * (at - middle));
    });
  }
  return curves;
}

/** The same, those that are to be straight in the middle, with as many places at either side. */
function leaveMiddle(
  keys: readonly string[],
  isStraight: (key: string) => boolean,
): readonly string[] {
  const straight = keys.filter(isStraight);
  if (straight.length === 0) return keys;
  const bent = keys.filter((key) => !straight.includes(key));
  const half = Math.ceil(bent.length / 2);
  const right = bent.slice(half);
  // One that is no key keeps the sides alike.
  const filling = right.length < half ? [""] : [];
  return [...bent.slice(0, half), ...straight.slice(0, 1), ...right, ...filling];
}
