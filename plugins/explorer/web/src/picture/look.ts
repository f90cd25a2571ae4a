import type { EdgeDisplayData, NodeDisplayData } from "sigma/types";

import type { Action } from "../time/differences";
import type { EdgeKind } from "./board";
import type { Palette } from "./palette";
import { mixColors } from "./style";

export interface NodeAttributes {
  x: number;
  y: number;
  label: string;
  color: string;
  image: string;
  size: number;
  /** How large its model is drawn against the others; 1 is usual. */
  factor: number;
  /** Whether far more leads to and from it than is usual: its label is wanted the most. */
  hub: boolean;
}

export interface EdgeAttributes {
  label: string;
  source: string;
  target: string;
  /** How it bends, as `listCurves` tells; 0 is straight. */
  curvature: number;
  /** Null where all are alike. */
  kind: EdgeKind | null;
  /** Where all are alike in kind: of its relationship. */
  color: string;
}

/** What of the picture is told apart now. */
export interface Look {
  visibleNodes: ReadonlySet<string>;
  visibleEdges: ReadonlySet<string>;
  chosen: ReadonlySet<string>;
  /** The relationship that the inspector shows. */
  chosenEdge: string | null;
  path: { nodes: ReadonlySet<string>; edges: ReadonlySet<string> } | null;
  /** Twins that are told apart from all others, as a query or the filter says; null is none. */
  marked: ReadonlySet<string> | null;
  /** What changed between two moments, by id or edge key; null is not shown. */
  changed: ReadonlyMap<string, Action> | null;
  pinned: ReadonlySet<string>;
  /** What has just changed, by the keys of `live/store`. */
  lit: ReadonlySet<string>;
  /** The twin under the pointer or the keyboard, with its neighbours; or a relationship alone. */
  near: { id: string | null; nodes: ReadonlySet<string>; edges: ReadonlySet<string> } | null;
  /** What is there for the sake of others: it is drawn pale, with its name. */
  beside: ReadonlySet<string>;
  /** The twin from which a relationship is being drawn. */
  from: string | null;
  /** So many that each is drawn the cheap way. */
  large: boolean;
  palette: Palette;
}

/** The share of the ground in the colour of what stands back. */
const FADED = 0.6;

/** What a node is drawn with, beyond what sigma asks for. */
export interface NodeMarks {
  /** A ring in this colour; null is none. */
  ring: string | null;
  pinned: boolean;
}

/** How a node is drawn. */
export function drawNode(
  id: string,
  data: NodeAttributes,
  look: Look,
): Partial<NodeDisplayData> & NodeMarks {
  if (!look.visibleNodes.has(id)) return { ...data, hidden: true, ring: null, pinned: false };
  const lit = look.lit.has(id);
  const chosen = look.chosen.has(id);
  const onPath = look.path?.nodes.has(id) ?? false;
  const marked = look.marked?.has(id) ?? false;
  const action = look.changed?.get(id);
  const aside =
    ((look.path !== null && !onPath) ||
      (look.marked !== null && !marked) ||
      (look.changed !== null && action === undefined)) &&
    !chosen;
  const told = chosen || lit || onPath || marked || look.from === id;
  const near = look.near?.id === id || (look.near?.nodes.has(id) ?? false);
  return {
    ...data,
    // PERF: a point is one vertex, an icon three of an instance of its own.
    type: look.large ? "point" : "icon",
    color: colorOfNode(id, data, look, aside),
    // Not by colours alone.
    label:
      aside && !near ? null : action === undefined ? data.label : `${SIGNS[action]} ${data.label}`,
    size: data.size * (told ? 1.25 : 1),
    forceLabel: data.hub || action !== undefined || chosen || onPath || marked || near,
    // Highlighted nodes are drawn once more above all others, with `drawHover`.
    highlighted: told || near,
    zIndex: told ? 2 : aside ? 0 : 1,
    ring: lit ? look.palette.warning : told ? look.palette.accent : null,
    pinned: look.pinned.has(id),
  };
}

/** What stands before the name of what changed. */
export const SIGNS: Readonly<Record<Action, string>> = {
  created: "+",
  updated: "~",
  deleted: "−",
};

function colorOfNode(
  id: string,
  data: NodeAttributes,
  { palette, changed, beside }: Look,
  aside: boolean,
): string {
  const action = changed?.get(id);
  if (action !== undefined) return palette[action];
  // What stands back is still known by its colour and icon.
  if (aside) return mixColors(data.color, readHex(palette.dim), FADED);
  return beside.has(id) ? palette.dim : data.color;
}

/** `rgb(…)` as `#rrggbb`. */
function readHex(color: string): string {
  const channels = color.match(/\d+/g) ?? [];
  return `#${channels.map((one) => Number(one).toString(16).padStart(2, "0")).join("")}`;
}

/** How an edge is drawn. */
export function drawEdge(
  key: string,
  data: EdgeAttributes,
  look: Look,
): Partial<EdgeDisplayData> & { curvature?: number } {
  if (!look.visibleEdges.has(key)) return { hidden: true };
  const { palette } = look;
  const onPath = look.path?.edges.has(key) ?? false;
  const lit = look.lit.has(key);
  const chosen = look.chosenEdge === key;
  const near = look.near?.edges.has(key) ?? false;
  const told = onPath || lit || chosen || near;
  // PERF: a line is one pixel and half the vertices of a rectangle; arrows cost twice that again,
  // and curves more: they are for those that would lie on each other.
  const bent = data.curvature !== 0;
  const action = look.changed?.get(key);
  const color = lit
    ? palette.warning
    : action !== undefined
      ? palette[action]
      : onPath || chosen
        ? palette.accent
        : near
          ? colorOf(data, palette)
          : look.path !== null || look.changed !== null || isUnmarked(data, look)
            ? palette.dim
            : colorOf(data, palette);
  return {
    label: told || look.path === null ? data.label : null,
    forceLabel: told && !look.large,
    color,
    size: onPath || chosen || lit || action !== undefined ? 3 : near ? 2.5 : widthOf(data.kind),
    type: look.large
      ? onPath || chosen || lit
        ? "arrow"
        : "line"
      : data.kind === "extends"
        ? "dashed"
        : bent
          ? "curve"
          : "arrow",
    curvature: data.curvature,
    zIndex: told ? 2 : 1,
  };
}

/** Whether others are told apart, and not both of its ends are. */
function isUnmarked({ source, target }: EdgeAttributes, { marked }: Look): boolean {
  return marked !== null && !(marked.has(source) && marked.has(target));
}

function colorOf({ kind, color }: EdgeAttributes, palette: Palette): string {
  switch (kind) {
    case null:
      return color;
    case "extends":
      return palette.muted;
    default:
      return palette[kind];
  }
}

function widthOf(kind: EdgeKind | null): number {
  if (kind === null) return 1.3;
  return kind === "component" ? 2 : 1.5;
}
