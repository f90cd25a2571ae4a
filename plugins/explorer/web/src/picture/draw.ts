import type {
  EdgeLabelDrawingFunction,
  NodeHoverDrawingFunction,
  NodeLabelDrawingFunction,
} from "sigma/rendering";
import type { Settings } from "sigma/settings";
import type { NodeDisplayData, PartialButFor } from "sigma/types";

import type { Rectangle } from "./crowd";
import type { Labels } from "./labels";
import type { EdgeAttributes, NodeAttributes, NodeMarks } from "./look";
import type { Palette } from "./palette";

type Marked = Partial<NodeMarks>;
type Drawn = PartialButFor<NodeDisplayData, "x" | "y" | "size" | "label" | "color">;
type Told = Settings<NodeAttributes, EdgeAttributes>;

/** Longer labels are cut, as they would run over all beside them; what is hovered is told whole. */
const LONGEST = 36;
/** A label stands on a shade of the ground of this width, which keeps it legible. */
const SHADE = 3;
/** Between the label along an edge and the nodes at its ends. */
const CLEAR = 5;
/** The label along an edge takes room in pieces, as it may be aslant. */
const PIECE = 8;

/** Labels stand beside their node, where they cover least; those that have no room are left out. */
export function labelDrawer(
  palette: () => Palette,
  labels: Labels,
): NodeLabelDrawingFunction<NodeAttributes, EdgeAttributes> {
  return (context, data, settings) => {
    const layer = labels.of(context);
    // NOTE: sigma names the node with its data, though its types do not say so.
    const { key } = data as { key?: string };
    if (!data.label || layer === undefined || key === undefined) return;
    if ((data as Partial<NodeDisplayData>).highlighted) {
      // It is drawn above all, with `hoverDrawer`.
      layer.keep(boxOf(context, data, settings));
      return;
    }
    const said = shorten(data.label);
    const font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
    context.font = font;
    const { ground, text } = palette();
    layer.wish(key, {
      x: data.x,
      y: data.y,
      radius: data.size,
      width: context.measureText(said).width + 2 * SHADE,
      height: settings.labelSize + 4,
      draw: ({ left, top, bottom }) => {
        context.font = font;
        const base = (top + bottom) / 2 + settings.labelSize / 3;
        write(context, said, left + SHADE, base, text, ground);
      },
    });
  };
}

function shorten(label: string): string {
  const signs = [...label];
  return signs.length <= LONGEST ? label : `${signs.slice(0, LONGEST - 1).join("")}…`;
}

function write(
  context: CanvasRenderingContext2D,
  said: string,
  x: number,
  y: number,
  color: string,
  ground: string,
): void {
  context.lineWidth = SHADE;
  context.lineJoin = "round";
  context.strokeStyle = ground;
  context.fillStyle = color;
  context.strokeText(said, x, y);
  context.fillText(said, x, y);
}

/** Labels along relationships: where there is room for the whole of it, clear of nodes and labels. */
export function edgeLabelDrawer(
  palette: () => Palette,
  labels: Labels,
): EdgeLabelDrawingFunction<NodeAttributes, EdgeAttributes> {
  return (context, data, source, target, settings) => {
    const layer = labels.of(context);
    if (!data.label || layer === undefined) return;
    const [across, along] = [target.x - source.x, target.y - source.y];
    const length = Math.hypot(across, along);
    // PERF: most are too short for any name: that is known before it is measured.
    if (length < source.size + target.size + 2 * CLEAR + settings.edgeLabelSize) return;
    context.font = `${settings.edgeLabelWeight} ${settings.edgeLabelSize}px ${settings.edgeLabelFont}`;
    const width = context.measureText(data.label).width;
    const from = source.size + CLEAR;
    const to = length - target.size - CLEAR;
    if (to - from < width) return;
    const { key, curvature = 0 } = data as { key?: string; curvature?: number };
    // Midway between the ends, and where an edge is bent halfway to what it is bent to.
    const x = source.x + (across * (from + to)) / (2 * length) + (along * curvature) / 2;
    const y = source.y + (along * (from + to)) / (2 * length) - (across * curvature) / 2;
    const [stepX, stepY] = [across / length, along / length];
    const pieces: Rectangle[] = [];
    const half = settings.edgeLabelSize / 2;
    for (let at = -width / 2; at <= width / 2; at += PIECE) {
      const [left, top] = [x + at * stepX - half, y + at * stepY - half];
      pieces.push({ left, top, right: left + 2 * half, bottom: top + 2 * half });
    }
    if (!layer.takeAlong(key ?? data.label, pieces)) return;
    const { ground, muted } = palette();
    context.save();
    context.translate(x, y);
    // Never upside down.
    context.rotate(Math.atan(along / across));
    write(context, data.label, -width / 2, settings.edgeLabelSize / 3, muted, ground);
    context.restore();
  };
}

/** The box of a label that is told apart: at the right of its node, at the left where there is more. */
function boxOf(context: CanvasRenderingContext2D, data: Drawn, settings: Told): Rectangle {
  context.font = `600 ${settings.labelSize}px ${settings.labelFont}`;
  const width = context.measureText(data.label ?? "").width + 12;
  const away = data.size + 2;
  const isCut = data.x + away + width > context.canvas.clientWidth;
  const left = isCut && data.x - away - width >= 0 ? data.x - away - width : data.x + away;
  const top = data.y - settings.labelSize / 2 - 4;
  return { left, top, right: left + width, bottom: top + settings.labelSize + 8 };
}

/** The ring around what is told apart, with its label in a box. */
export function hoverDrawer(
  palette: () => Palette,
): NodeHoverDrawingFunction<NodeAttributes, EdgeAttributes> {
  return (context, data, settings) => {
    const { ground, text, line, muted } = palette();
    const { ring, pinned } = data as Marked;
    context.beginPath();
    context.arc(data.x, data.y, data.size + 3, 0, 2 * Math.PI);
    context.lineWidth = ring ? 3 : 2;
    context.strokeStyle = ring ?? muted;
    context.stroke();
    if (pinned) {
      context.beginPath();
      context.arc(data.x + data.size * 0.7, data.y - data.size * 0.7, 4, 0, 2 * Math.PI);
      context.fillStyle = text;
      context.fill();
    }
    if (!data.label) return;
    const { left, top, right, bottom } = boxOf(context, data, settings);
    context.beginPath();
    context.roundRect(left, top, right - left, bottom - top, 4);
    context.fillStyle = ground;
    context.fill();
    context.lineWidth = 1;
    context.strokeStyle = line;
    context.stroke();
    context.fillStyle = text;
    context.fillText(data.label, left + 6, data.y + settings.labelSize / 3);
  };
}
