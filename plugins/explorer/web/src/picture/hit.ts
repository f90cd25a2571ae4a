import type Sigma from "sigma";

import type { EdgeAttributes, NodeAttributes } from "./look";
import { findLoop } from "./loops";

export interface Point {
  x: number;
  y: number;
}

/** So many straight pieces stand for a curve. */
const PIECES = 12;

/**
 * The relationship that is drawn closest to a point of the view, within some pixels; null is none.
 * NOTE: sigma itself finds an edge only where it is drawn, a pixel or two wide, and no loop at all.
 */
export function findEdge(
  sigma: Sigma<NodeAttributes, EdgeAttributes>,
  at: Point,
  within: number,
): string | null {
  const ends = new Map<string, Point>();
  const whereIs = (id: string): Point | undefined => {
    const known = ends.get(id);
    if (known !== undefined) return known;
    const data = sigma.getNodeDisplayData(id);
    if (data === undefined) return undefined;
    const place = sigma.framedGraphToViewport(data);
    ends.set(id, place);
    return place;
  };
  let found: string | null = null;
  let least = within;
  sigma.getGraph().forEachEdge((key, { curvature }, source, target) => {
    if (sigma.getEdgeDisplayData(key)?.hidden !== false) return;
    const [from, to] = [whereIs(source), whereIs(target)];
    if (from === undefined || to === undefined) return;
    let away: number;
    if (source === target) {
      const loop = findLoop(sigma, key);
      if (loop === null) return;
      away = Math.abs(Math.hypot(at.x - loop.middleX, at.y - loop.middleY) - loop.radius);
    } else away = measureAway(at, from, to, curvature);
    if (away <= least) [found, least] = [key, away];
  });
  return found;
}

/** How far a point is from an edge, which bends as `listCurves` tells. */
export function measureAway(at: Point, from: Point, to: Point, curvature: number): number {
  if (curvature === 0) return awayFromLine(at, from, to);
  // What a curve is bent to; halfway there it is the furthest from the line.
  const bend = {
    x: (from.x + to.x) / 2 + (to.y - from.y) * curvature,
    y: (from.y + to.y) / 2 - (to.x - from.x) * curvature,
  };
  let least = Infinity;
  let before = from;
  for (let piece = 1; piece <= PIECES; piece++) {
    const share = piece / PIECES;
    const [one, two, three] = [(1 - share) ** 2, 2 * share * (1 - share), share ** 2];
    const next = {
      x: one * from.x + two * bend.x + three * to.x,
      y: one * from.y + two * bend.y + three * to.y,
    };
    least = Math.min(least, awayFromLine(at, before, next));
    before = next;
  }
  return least;
}

function awayFromLine(at: Point, from: Point, to: Point): number {
  const [x, y] = [to.x - from.x, to.y - from.y];
  const length = x * x + y * y;
  const along = length === 0 ? 0 : ((at.x - from.x) * x + (at.y - from.y) * y) / length;
  const share = Math.min(1, Math.max(0, along));
  return Math.hypot(at.x - from.x - share * x, at.y - from.y - share * y);
}
