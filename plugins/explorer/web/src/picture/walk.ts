export interface At {
  id: string;
  x: number;
  y: number;
}

export type Arrow = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

const DIRECTIONS: Record<Arrow, readonly [number, number]> = {
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
};

export function isArrow(key: string): key is Arrow {
  return key in DIRECTIONS;
}

/**
 * Where an arrow key leads from a node: to the candidate that lies best in that direction, near and
 * straight ahead; null where none does. y grows upwards, as in a graph.
 */
export function findNext(from: At, candidates: readonly At[], arrow: Arrow): string | null {
  const [dx, dy] = DIRECTIONS[arrow];
  let best: string | null = null;
  let least = Infinity;
  for (const one of candidates) {
    if (one.id === from.id) continue;
    const [x, y] = [one.x - from.x, one.y - from.y];
    const ahead = x * dx + y * dy;
    const aside = Math.abs(x * dy - y * dx);
    // Within 60° to either side.
    if (ahead <= 0 || aside > ahead * 1.75) continue;
    const cost = ahead + 2 * aside;
    if (cost < least) [best, least] = [one.id, cost];
  }
  return best;
}
