import { removeOverlaps } from "./overlap";
import { measureScale, packBoxes, type Box, type View } from "./pack";

/** Nodes that are laid out together: their indexes, x and y of each, and which must stay. */
export interface Group {
  members: readonly number[];
  at: Float64Array;
  fixed: Uint8Array;
}

/** Of the view at most this share is nodes with the room about them: where there are too many, first
 * the room gives way, then they may touch. More would part what belongs together. */
const MOST_COVERED = 0.15;
/** Room about a node, as a share of its radius and in pixels: what is chosen is drawn larger. */
const ROOM = 1.25;
const GAP = 2;
/** What nodes need may widen the picture so many times; beyond, some may overlap. */
const MOST_GROWTH = 1.4;
/** The picture grows as its nodes part, and nodes with it as all is fitted into the view again. */
const MOST_ROUNDS = 10;
const CLOSE_ENOUGH = 1.01;
/** Between groups, in pixels: a share of what each has of the view, within bounds. */
const MARGIN = { share: 0.25, least: 10, most: 80 };

/** The radii in pixels that nodes keep clear, for a view of this size. */
export function listRadii(sizes: readonly number[], view: View): Float64Array {
  const area = view.width * view.height;
  const shareOf = (radii: readonly number[]): number => {
    const covered = radii.reduce((sum, radius) => sum + Math.PI * radius ** 2, 0);
    return covered === 0 ? 1 : Math.min(1, Math.sqrt((MOST_COVERED * area) / covered));
  };
  const wanted = sizes.map((size) => size * ROOM + GAP);
  const [roomy, bare] = [shareOf(wanted), shareOf(sizes)];
  return Float64Array.from(wanted, (radius, at) => {
    return Math.max(radius * roomy, (sizes[at] ?? 0) * bare);
  });
}

/**
 * Moves the nodes of all groups so that none overlaps another when the whole picture is in view, and
 * groups so that they stand beside each other. What is fixed stays, with the group that it is of.
 */
export function arrangeGroups(groups: readonly Group[], radii: Float64Array, view: View): void {
  standApart(groups, radii, 0, view);
  let scale = scaleOf(groups, view);
  // What the groups need for themselves counts from the start.
  standApart(groups, radii, scale, view);
  const most = scaleOf(groups, view) * MOST_GROWTH;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    for (const { members, at, fixed } of groups) {
      const own = Float64Array.from(members, (member) => (radii[member] ?? 0) * scale);
      removeOverlaps({ at, radii: own, fixed });
    }
    standApart(groups, radii, scale, view);
    const next = scaleOf(groups, view);
    if (next <= scale * CLOSE_ENOUGH || scale >= most) return;
    scale = Math.min(next, most);
  }
}

/** Puts groups beside each other; those that hold what is fixed stay, and the others go below. */
export function standApart(
  groups: readonly Group[],
  radii: Float64Array,
  scale: number,
  view: View,
): void {
  const loose = groups.filter(({ fixed }) => !fixed.includes(1));
  const held = groups.filter(({ fixed }) => fixed.includes(1));
  const room = Math.sqrt((view.width * view.height) / Math.max(1, groups.length));
  const margin = scale * Math.min(MARGIN.most, Math.max(MARGIN.least, MARGIN.share * room));
  const frames = loose.map((group) => frameOf([group], radii, scale, margin));
  const places = packBoxes(frames, view);
  const anchor = held.length === 0 ? null : frameOf(held, radii, scale, margin);
  const [left, top] = anchor === null ? [0, 0] : [anchor.x, anchor.y];
  loose.forEach(({ at }, index) => {
    const [frame, place] = [frames[index], places[index]];
    if (frame === undefined || place === undefined) return;
    // Boxes are packed from the top down, and y leads up.
    const [x, y] = [left + place.x - frame.x, top - place.y - frame.height - frame.y];
    for (let one = 0; one < at.length; one += 2) {
      at[one] = (at[one] ?? 0) + x;
      at[one + 1] = (at[one + 1] ?? 0) + y;
    }
  });
}

function scaleOf(groups: readonly Group[], view: View): number {
  return measureScale(frameOf(groups, new Float64Array(), 0, 0), view) || 1;
}

interface Frame extends Box {
  /** The lower left corner. */
  x: number;
  y: number;
}

/** The box around groups with the radii of their nodes. */
function frameOf(
  groups: readonly Group[],
  radii: Float64Array,
  scale: number,
  margin: number,
): Frame {
  const frame = { left: Infinity, right: -Infinity, low: Infinity, high: -Infinity };
  for (const { members, at } of groups) {
    members.forEach((member, index) => {
      const around = (radii[member] ?? 0) * scale;
      const [x, y] = [at[2 * index] ?? 0, at[2 * index + 1] ?? 0];
      frame.left = Math.min(frame.left, x - around);
      frame.right = Math.max(frame.right, x + around);
      frame.low = Math.min(frame.low, y - around);
      frame.high = Math.max(frame.high, y + around);
    });
  }
  if (frame.left > frame.right) return { x: 0, y: 0, width: 0, height: 0 };
  return {
    x: frame.left - margin / 2,
    y: frame.low - margin / 2,
    width: frame.right - frame.left + margin,
    height: frame.high - frame.low + margin,
  };
}
