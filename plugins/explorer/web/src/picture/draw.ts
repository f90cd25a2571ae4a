import type { NodeHoverDrawingFunction, NodeLabelDrawingFunction } from "sigma/rendering";

import type { EdgeAttributes, NodeAttributes, NodeMarks } from "./look";
import type { Palette } from "./palette";

type Marked = Partial<NodeMarks>;

/** Labels stand at the right of their node, on a shade of the ground that keeps them legible. */
export function labelDrawer(
  palette: () => Palette,
): NodeLabelDrawingFunction<NodeAttributes, EdgeAttributes> {
  return (context, data, settings) => {
    if (!data.label) return;
    const { ground, text } = palette();
    context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeStyle = ground;
    context.fillStyle = text;
    const [x, y] = [data.x + data.size + 4, data.y + settings.labelSize / 3];
    context.strokeText(data.label, x, y);
    context.fillText(data.label, x, y);
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
