import type { ForceAtlas2Settings } from "graphology-layout-forceatlas2";

import type { Place } from "../store";
import { arrangeGroups, listRadii, standApart, type Group } from "./arrange";
import { listComponents, listPairs, type Pair } from "./components";
import type { Link } from "./hierarchy";
import type { View } from "./pack";
import { placeSeeds } from "./seed";

/** Numbers of a node and of an edge in the matrices of ForceAtlas2. */
const PER_NODE = 10;
const PER_EDGE = 3;
const [X, Y, MASS, CONVERGENCE, SIZE, FIXED] = [0, 1, 6, 7, 8, 9];

/** What the worker is given to lay out: nodes at these places, with sizes in pixels. */
export interface ForceInput {
  nodes: readonly string[];
  links: readonly Link[];
  places: readonly Place[];
  pinned: readonly boolean[];
  sizes: readonly number[];
  view: View;
}

/** What it makes of it. */
export interface ForceTask {
  groups: ForceGroup[];
  /** Of every node the radius that it keeps clear, in pixels. */
  radii: Float64Array;
  view: View;
}

/** Nodes that are laid out by themselves, as nothing leads from them to others. */
export interface ForceGroup {
  members: number[];
  fixed: Uint8Array;
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

/** The task: a group for all that hangs on what is pinned, and one for each other component. */
export function buildTask({ nodes, links, places, pinned, sizes, view }: ForceInput): ForceTask {
  const pairs = listPairs(nodes, links);
  const components = listComponents(nodes.length, pairs);
  const held = components.filter((members) => members.some((member) => pinned[member]));
  const loose = components.filter((members) => !members.some((member) => pinned[member]));
  const together = held.length === 0 ? [] : [held.flat()];
  const groupOf = new Map<number, number>();
  const lists = [...together, ...loose];
  lists.forEach((members, at) => members.forEach((member) => groupOf.set(member, at)));
  const within = lists.map((): Pair[] => []);
  for (const pair of pairs) within[groupOf.get(pair[0]) ?? -1]?.push(pair);
  const seeds = placeSeeds(nodes, links);
  const groups = lists.map((members, at) => {
    const parts = at < together.length ? held.length : 1;
    return buildGroup(
      members,
      beginAt(members, seeds, places, pinned),
      pinned,
      within[at] ?? [],
      parts,
    );
  });
  return { groups, radii: listRadii(sizes, view), view };
}

/**
 * Where the members begin: at their seeds. Around some that are pinned, the seeds are moved to them;
 * where most stay, the others begin where they are, beside a neighbour.
 */
function beginAt(
  members: readonly number[],
  seeds: readonly Place[],
  places: readonly Place[],
  pinned: readonly boolean[],
): readonly Place[] {
  const held = members.filter((member) => pinned[member]);
  if (2 * held.length > members.length) return places;
  if (held.length === 0) return seeds;
  const [here, there] = [meanOf(held, places), meanOf(held, seeds)];
  const begun = [...places];
  for (const member of members) {
    const { x, y } = seeds[member] ?? there;
    if (!pinned[member]) begun[member] = { x: x - there.x + here.x, y: y - there.y + here.y };
  }
  return begun;
}

function buildGroup(
  members: number[],
  places: readonly Place[],
  pinned: readonly boolean[],
  pairs: readonly Pair[],
  parts: number,
): ForceGroup {
  const nodes = new Float32Array(members.length * PER_NODE);
  const fixed = Uint8Array.from(members, (member) => (pinned[member] ? 1 : 0));
  // Gravity draws to 0: what is free begins around there, or it would fly through the picture.
  const middle = fixed.includes(1) ? { x: 0, y: 0 } : meanOf(members, places);
  const rows = new Map<number, number>();
  members.forEach((member, at) => {
    const row = at * PER_NODE;
    rows.set(member, row);
    nodes[row + X] = (places[member]?.x ?? 0) - middle.x;
    nodes[row + Y] = (places[member]?.y ?? 0) - middle.y;
    nodes[row + MASS] = 1;
    nodes[row + CONVERGENCE] = 1;
    nodes[row + SIZE] = 1;
    nodes[row + FIXED] = fixed[at] ?? 0;
  });
  const edges = new Float32Array(pairs.length * PER_EDGE);
  pairs.forEach((pair, at) => {
    const [source, target] = [rows.get(pair[0]) ?? 0, rows.get(pair[1]) ?? 0];
    edges.set([source, target, 1], at * PER_EDGE);
    for (const row of [source, target]) nodes[row + MASS] = (nodes[row + MASS] ?? 0) + 1;
  });
  const count = members.length;
  const iterations = count < 2 || !fixed.includes(0) ? 0 : roundsFor(count);
  return { members, fixed, nodes, edges, settings: settingsFor(count, parts), iterations };
}

function meanOf(members: readonly number[], places: readonly Place[]): Place {
  const sum = { x: 0, y: 0 };
  for (const member of members) {
    sum.x += places[member]?.x ?? 0;
    sum.y += places[member]?.y ?? 0;
  }
  return { x: sum.x / members.length, y: sum.y / members.length };
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
  return Math.round(Math.max(100, Math.min(400, 300_000 / Math.max(1, count))));
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

/** The places of all nodes, groups beside each other; `last`: none overlaps another. */
export function joinGroups({ groups, radii, view }: ForceTask, last: boolean): Float32Array {
  const apart = groups.map(({ members, fixed, nodes }): Group => {
    return { members, fixed, at: Float64Array.from(readPositions(nodes)) };
  });
  if (last) arrangeGroups(apart, radii, view);
  else standApart(apart, radii, 1, view);
  const positions = new Float32Array(radii.length * 2);
  for (const { members, at } of apart) {
    members.forEach((member, index) => {
      positions.set([at[2 * index] ?? 0, at[2 * index + 1] ?? 0], 2 * member);
    });
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
