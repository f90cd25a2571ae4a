import {
  drawStraightEdgeLabel,
  type EdgeLabelDrawingFunction,
  type NodeHoverDrawingFunction,
  type NodeLabelDrawingFunction,
} from "sigma/rendering";

import { Crowd } from "./crowd";
import type { EdgeAttributes, NodeAttributes, NodeMarks } from "./look";
import type { Palette } from "./palette";

type Marked = Partial<NodeMarks>;

/** Longer labels are cut, as they would run over all beside them; what is hovered is told whole. */
const LONGEST = 36;

/** The labels of each layer that is drawn on; a saved image has layers of its own. */
export class Crowds {
  private readonly known = new Map<CanvasRenderingContext2D, Crowd>();

  of(context: CanvasRenderingContext2D): Crowd {
    const crowd = this.known.get(context) ?? new Crowd();
    this.known.set(context, crowd);
    return crowd;
  }

  /** A frame begins: all the room is free. */
  clear(): void {
    this.known.clear();
  }
}

/**
 * Labels stand at the right of their node, on a shade of the ground that keeps them legible; those
 * that would cover others are left out.
 */
export function labelDrawer(
  palette: () => Palette,
  crowds: Crowds,
): NodeLabelDrawingFunction<NodeAttributes, EdgeAttributes> {
  return (context, data, settings) => {
    if (!data.label) return;
    const { ground, text } = palette();
    context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeStyle = ground;
    context.fillStyle = text;
    const said = shorten(data.label);
    const [x, y] = [data.x + data.size + 4, data.y + settings.labelSize / 3];
    const room = {
      left: x - 2,
      right: x + context.measureText(said).width + 4,
      top: data.y - settings.labelSize / 2 - 2,
      bottom: data.y + settings.labelSize / 2 + 2,
    };
    // NOTE: sigma names the node with its data, though its types do not say so.
    const { key } = data as { key?: string };
    if (!crowds.of(context).take(key ?? data.label, room)) return;
    context.strokeText(said, x, y);
    context.fillText(said, x, y);
  };
}

function shorten(label: string): string {
  const signs = [...label];
  return signs.length <= LONGEST ? label : `${signs.slice(0, LONGEST - 1).join("")}…`;
}

/** Labels along relationships: those that would cover others are left out, but not what is told. */
export function edgeLabelDrawer(
  crowds: Crowds,
): EdgeLabelDrawingFunction<NodeAttributes, EdgeAttributes> {
  return (context, data, source, target, settings) => {
    if (!data.label) return;
    context.font = `${settings.edgeLabelWeight} ${settings.edgeLabelSize}px ${settings.edgeLabelFont}`;
    const width = context.measureText(data.label).width;
    const [x, y] = [(source.x + target.x) / 2, (source.y + target.y) / 2];
    const angle = Math.atan2(target.y - source.y, target.x - source.x);
    const across = (Math.abs(Math.cos(angle)) * width + settings.edgeLabelSize) / 2;
    const along = (Math.abs(Math.sin(angle)) * width + settings.edgeLabelSize) / 2;
    const room = { left: x - across, right: x + across, top: y - along, bottom: y + along };
    const { key, forceLabel } = data as { key?: string; forceLabel?: boolean };
    const isFree = crowds.of(context).take(key ?? data.label, room);
    if (isFree || forceLabel) drawStraightEdgeLabel(context, data, source, target, settings);
  };
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
    context.font = `600 ${settings.labelSize}px ${settings.labelFont}`;
    const width = context.measureText(data.label).width;
    const [x, y] = [data.x + data.size + 2, data.y - settings.labelSize / 2 - 4];
    context.beginPath();
    context.roundRect(x, y, width + 12, settings.labelSize + 8, 4);
    context.fillStyle = ground;
    context.fill();
    context.lineWidth = 1;
    context.strokeStyle = line;
    context.stroke();
    context.fillStyle = text;
    context.fillText(data.label, x + 6, data.y + settings.labelSize / 3);
  };
}
