import type { ForceAtlas2Settings } from "graphology-layout-forceatlas2";

import type { Place } from "../store";

/** Numbers of a node and of an edge in the matrices of ForceAtlas2. */
const PER_NODE = 10;
const PER_EDGE = 3;
const [X, Y, MASS, CONVERGENCE, SIZE, FIXED] = [0, 1, 6, 7, 8, 9];

/** What the worker is given to lay out. */
export interface ForceTask {
  nodes: Float32Array;
  edges: Float32Array;
  settings: ForceAtlas2Settings;
  iterations: number;
}

/** What it tells: x and y of every node, in order, and how far it is (1 is done). */
export interface ForceStep {
  positions: Float32Array;
  progress: number;
}

/** The matrices for nodes at these places; edges are pairs of their indexes. */
export function buildTask(
  places: readonly Place[],
  pinned: readonly boolean[],
  pairs: readonly (readonly [number, number])[],
): ForceTask {
  const nodes = new Float32Array(places.length * PER_NODE);
  places.forEach(({ x, y }, at) => {
    const row = at * PER_NODE;
    nodes[row + X] = x;
    nodes[row + Y] = y;
    nodes[row + MASS] = 1;
    nodes[row + CONVERGENCE] = 1;
    nodes[row + SIZE] = 1;
    nodes[row + FIXED] = pinned[at] ? 1 : 0;
  });
  const edges = new Float32Array(pairs.length * PER_EDGE);
  pairs.forEach(([source, target], at) => {
    edges.set([source * PER_NODE, target * PER_NODE, 1], at * PER_EDGE);
    for (const row of [source * PER_NODE, target * PER_NODE]) {
      nodes[row + MASS] = (nodes[row + MASS] ?? 0) + 1;
    }
  });
  return {
    nodes,
    edges,
    settings: settingsFor(places.length, countGroups(places.length, pairs)),
    iterations: roundsFor(places.length),
  };
}

/** How many groups there are that nothing leads between. */
export function countGroups(count: number, pairs: readonly (readonly [number, number])[]): number {
  const above = Array.from({ length: count }, (_, at) => at);
  const rootOf = (at: number): number => {
    let root = at;
    while (above[root] !== root) root = above[root] ?? root;
    above[at] = root;
    return root;
  };
  let groups = count;
  for (const [one, other] of pairs) {
    const [a, b] = [rootOf(one), rootOf(other)];
    if (a === b) continue;
    above[a] = b;
    groups -= 1;
  }
  return groups;
}

function settingsFor(count: number, groups: number): ForceAtlas2Settings {
  return {
    linLogMode: false,
    outboundAttractionDistribution: false,
    adjustSizes: false,
    edgeWeightInfluence: 0,
    scalingRatio: 10,
    // What hangs together keeps its shape; many groups are drawn together, else they fly apart.
    strongGravityMode: true,
    gravity: 0.02 + 0.3 * (groups / Math.max(1, count)),
    slowDown: 1 + Math.log(Math.max(1, count)),
    // PERF: below so many nodes the tree costs more than it saves.
    barnesHutOptimize: count > 800,
    barnesHutTheta: 0.7,
  };
}

function roundsFor(count: number): number {
  return Math.round(Math.max(200, Math.min(700, 600_000 / Math.max(1, count))));
}

/** The positions out of the matrix. */
export function readPositions(nodes: Float32Array): Float32Array {
  const positions = new Float32Array((nodes.length / PER_NODE) * 2);
  for (let at = 0; at < positions.length / 2; at++) {
    positions[2 * at] = nodes[at * PER_NODE + X] ?? 0;
    positions[2 * at + 1] = nodes[at * PER_NODE + Y] ?? 0;
  }
  return positions;
}

/** How far the nodes moved on the mean, against how far they lie apart: 0 is at rest. */
export function measureUnrest(before: Float32Array, after: Float32Array): number {
  let moved = 0;
  let [least, most] = [Infinity, -Infinity];
  for (let at = 0; at < after.length; at += 2) {
    const x = after[at] ?? 0;
    moved += Math.hypot(x - (before[at] ?? 0), (after[at + 1] ?? 0) - (before[at + 1] ?? 0));
    least = Math.min(least, x);
    most = Math.max(most, x);
  }
  const count = after.length / 2;
  return count === 0 || most <= least ? 0 : moved / count / (most - least);
}
