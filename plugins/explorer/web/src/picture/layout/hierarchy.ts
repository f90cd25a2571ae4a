import { hierarchy, tree, type HierarchyNode } from "d3-hierarchy";

import type { Place } from "../store";
import { listComponents, listPairs } from "./components";
import { findLayers, type Layers, type OrderedLink } from "./layers";
import { measureScale, packBoxes, type View } from "./pack";

export interface Link extends OrderedLink {
  name: string;
}

/**
 * For each child its parent. Relationships of a name whose every source has one target (or every
 * target one source) make a hierarchy, such as `contains` or `locatedIn`; those with the most
 * children for each parent come first. What is still alone hangs on any neighbour. `known` are pairs
 * of a child and its parent that come before all of them.
 */
export function buildParents(
  nodes: readonly string[],
  links: readonly Link[],
  known: readonly Pair[] = [],
): ReadonlyMap<string, string> {
  const parents = new Map<string, string>();
  // PERF: for each a node above it, near the top: of a long chain each walk up would be long.
  const above = new Map<string, string>();
  const rootOf = (id: string): string => {
    const passed: string[] = [];
    let root = id;
    for (let next = above.get(root); next !== undefined; next = above.get(root)) {
      passed.push(root);
      root = next;
    }
    for (const one of passed) if (one !== root) above.set(one, root);
    return root;
  };
  const hang = (child: string, parent: string): void => {
    if (parents.has(child) || rootOf(parent) === child) return;
    parents.set(child, parent);
    above.set(child, parent);
  };
  for (const pairs of [known, ...listHierarchies(links)]) {
    for (const [child, parent] of pairs) hang(child, parent);
  }
  // Hubs keep the others together: seen from them, each neighbour is a child.
  const degrees = new Map<string, number>(nodes.map((id) => [id, 0]));
  for (const { source, target } of links) {
    degrees.set(source, (degrees.get(source) ?? 0) + 1);
    degrees.set(target, (degrees.get(target) ?? 0) + 1);
  }
  for (const { source, target } of links) {
    const outward = (degrees.get(source) ?? 0) >= (degrees.get(target) ?? 0);
    hang(outward ? target : source, outward ? source : target);
  }
  return parents;
}

type Pair = readonly [child: string, parent: string];

function listHierarchies(links: readonly Link[]): Pair[][] {
  const byName = new Map<string, Link[]>();
  for (const link of links) {
    const known = byName.get(link.name);
    if (known === undefined) byName.set(link.name, [link]);
    else known.push(link);
  }
  const found: { pairs: Pair[]; spread: number }[] = [];
  for (const same of byName.values()) {
    const down = same.map(({ source, target }): Pair => [target, source]);
    const up = same.map(({ source, target }): Pair => [source, target]);
    const readings = [down, up].filter((pairs) => new Set(pairs.map(first)).size === pairs.length);
    for (const pairs of readings) {
      found.push({ pairs, spread: pairs.length - new Set(pairs.map(second)).size });
    }
  }
  return found.sort((one, other) => other.spread - one.spread).map((one) => one.pairs);
}

const first = (pair: Pair): string => pair[0];
const second = (pair: Pair): string => pair[1];

interface Branch {
  id: string;
  children: Branch[];
  /** Of nodes that are laid out already, which are packed as one. */
  block?: Block;
}

/** Nodes in a box: y leads down from its upper border. */
interface Block {
  width: number;
  height: number;
  places: ReadonlyMap<string, Place>;
}

/** What a picture is drawn in, and how far apart the middles of two nodes have to be, in pixels. */
export interface Paper {
  view: View;
  distance: number;
}

/**
 * Layers from the top, by the longest way to each node: what leads there is above it, trees beside
 * each other. Where the view is too small for all of a layer in one row, it has several rows; what
 * hangs on wholes is packed in rows below them.
 */
export function placeInLayers(
  nodes: readonly string[],
  links: readonly Link[],
  paper?: Paper,
): Place[] {
  const layers = findLayers(nodes, links);
  const components = listComponents(nodes.length, listPairs(nodes, links)).map((members) =>
    members.flatMap((at) => nodes[at] ?? []),
  );
  const root = tree<Branch>().nodeSize([1, 1])(hierarchy(hang(components.flat(), layers.parents)));
  let [least, most, deepest] = [0, 0, 1];
  root.each((node) => {
    least = Math.min(least, node.x);
    most = Math.max(most, node.x);
    deepest = Math.max(deepest, node.depth);
  });
  const places = new Map<string, Place>();
  if (paper !== undefined && (most - least + 1) * paper.distance > paper.view.width) {
    const across = new Map(root.descendants().map(({ data, x }) => [data.id, x]));
    packInRows(hierarchy(buildPacked(components, layers, across, paper)), paper.view, places);
  } else {
    // Twice as broad as high, however many stand beside each other.
    const height = Math.max(1.5, (most - least) / 2 / deepest);
    root.each((node) => places.set(node.data.id, { x: node.x, y: -node.depth * height }));
  }
  return nodes.map((id) => places.get(id) ?? { x: 0, y: 0 });
}

/** The nodes as a tree below one that stands for no node. */
function hang(nodes: readonly string[], parents: ReadonlyMap<string, string>): Branch {
  const branches = new Map<string, Branch>(nodes.map((id) => [id, { id, children: [] }]));
  const top: Branch = { id: "", children: [] };
  for (const [id, branch] of branches) {
    (branches.get(parents.get(id) ?? "") ?? top).children.push(branch);
  }
  return top;
}

/** The components to pack: where most are parts of wholes, as their tree, else as blocks of layers. */
function buildPacked(
  components: readonly (readonly string[])[],
  { of, parents, wholes }: Layers,
  across: ReadonlyMap<string, number>,
  { view, distance }: Paper,
): Branch {
  const top: Branch = { id: "", children: [] };
  const fit = Math.max(1, Math.floor(view.width / distance));
  for (const members of components) {
    const parts = members.filter((id) => wholes.has(id)).length;
    if (2 * parts >= members.length - 1) {
      top.children.push(...hang(members, new Map([...parents, ...wholes])).children);
      continue;
    }
    const rows: string[][] = [];
    for (const id of members) (rows[of.get(id) ?? 0] ??= []).push(id);
    for (const row of rows) row.sort((a, b) => (across.get(a) ?? 0) - (across.get(b) ?? 0));
    const widths = SHAPES.map((shape) => Math.max(fit, Math.sqrt(members.length * shape)));
    let best: Block | undefined;
    for (const width of widths) {
      const block = placeInBands(rows, Math.round(width));
      if (best === undefined || measureScale(block, view) < measureScale(best, view)) best = block;
    }
    if (best !== undefined) top.children.push({ id: "", children: [], block: best });
  }
  return top;
}

/** Each layer in as many rows of the same breadth as it needs. */
function placeInBands(layers: readonly (readonly string[])[], most: number): Block {
  const places = new Map<string, Place>();
  const count = (layer: readonly string[]): number => Math.ceil(layer.length / most);
  const width = layers.reduce((widest, layer) => {
    return Math.max(widest, Math.ceil(layer.length / count(layer)));
  }, 1);
  let y = 0;
  for (const layer of layers) {
    const breadth = Math.ceil(layer.length / count(layer));
    layer.forEach((id, at) => {
      const row = Math.floor(at / breadth);
      const inRow = Math.min(breadth, layer.length - row * breadth);
      places.set(id, { x: (width - inRow) / 2 + (at % breadth) + 0.5, y: y + row });
    });
    y += count(layer) - 1 + DOWN;
  }
  return { width, height: y - DOWN + 1, places };
}

/** Around what has children, in the distance of two nodes. */
const MARGIN = 0.3;
/** From a parent down to its children. */
const DOWN = 1.6;
/** How broad what hangs on one is for its height: what fills the view best is taken. */
const SHAPES = [1, 1.5, 2.2, 3.2];

interface Packed {
  width: number;
  height: number;
  /** The upper left corner in the box of the parent; y leads down. */
  x: number;
  y: number;
}

type Boxes = ReadonlyMap<HierarchyNode<Branch>, Packed>;

function packInRows(root: HierarchyNode<Branch>, view: View, places: Map<string, Place>): void {
  let best: Boxes = new Map();
  let least = Infinity;
  for (const shape of SHAPES) {
    const boxes = packAll(root, shape, view);
    const scale = measureScale(boxes.get(root) ?? view, view);
    if (scale < least) [best, least] = [boxes, scale];
  }
  root.eachBefore((node) => {
    const box = best.get(node);
    if (box === undefined) return;
    const parent = node.parent === null ? undefined : best.get(node.parent);
    box.x += parent?.x ?? 0;
    box.y += parent?.y ?? 0;
    for (const [id, { x, y }] of node.data.block?.places ?? []) {
      places.set(id, { x: box.x + MARGIN + x, y: -box.y - y });
    }
    places.set(node.data.id, { x: box.x + box.width / 2, y: -box.y });
  });
}

/** The box of each node with all that hangs on it. */
function packAll(root: HierarchyNode<Branch>, shape: number, view: View): Boxes {
  const boxes = new Map<HierarchyNode<Branch>, Packed>();
  root.eachAfter((node) => {
    const { block: laid } = node.data;
    if (laid !== undefined) {
      const [width, height] = [laid.width + 2 * MARGIN, laid.height + MARGIN];
      boxes.set(node, { width, height, x: 0, y: 0 });
      return;
    }
    const isTop = node === root;
    const children = node.children ?? [];
    // PERF: those that end here are one block: each by itself they would be thousands to pack.
    const isLeaf = (child: HierarchyNode<Branch>): boolean =>
      child.children === undefined && child.data.block === undefined;
    const leaves = children.filter(isLeaf);
    const columns = Math.max(1, Math.round(Math.sqrt(leaves.length * shape)));
    const block = {
      width: Math.min(columns, leaves.length),
      height: Math.ceil(leaves.length / columns),
    };
    const trees = children.filter((child) => !isLeaf(child));
    const parts = trees.flatMap((child) => boxes.get(child) ?? []);
    const packed = packBoxes([block, ...parts], isTop ? view : { width: shape, height: 1 });
    const margin = isTop || children.length === 0 ? 0 : MARGIN;
    // Their parent is above their middle; above the roots there is none.
    const down = isTop ? 0 : DOWN;
    let [width, height] = [1, 1];
    packed.forEach(({ x, y }, at) => {
      const part = at === 0 ? block : parts[at - 1];
      if (part === undefined || part.width === 0) return;
      width = Math.max(width, x + part.width);
      height = Math.max(height, y + part.height + down);
      const box = parts[at - 1];
      if (box !== undefined) [box.x, box.y] = [x + margin, y + down];
    });
    const corner = packed[0] ?? { x: 0, y: 0 };
    leaves.forEach((leaf, at) => {
      const x = corner.x + margin + (at % columns);
      const y = corner.y + down + Math.floor(at / columns);
      boxes.set(leaf, { width: 1, height: 1, x, y });
    });
    boxes.set(node, { width: width + 2 * margin, height: height + margin, x: 0, y: 0 });
  });
  return boxes;
}
