import type Sigma from "sigma";
import type { EdgeDisplayData } from "sigma/types";

import type { Labels } from "./labels";
import type { EdgeAttributes, NodeAttributes } from "./look";
import type { PictureGraph } from "./Painter";

/** The least radius of a loop, in pixels: below it one would not see what it is. */
const LEAST = 5;
/** From three o'clock on around the loop: it is open where the node is. */
const [FROM, TO] = [Math.PI * 0.85, Math.PI * 2.65];

/** What leads from a node to itself: sigma draws nothing of no length. */
export class Loops {
  private keys: readonly string[] = [];

  /** These are the edges now. */
  take(graph: PictureGraph): void {
    this.keys = graph.filterEdges((_key, _data, source, target) => source === target);
  }

  /** Draw them with each frame, with their names where there is room for them. */
  watch(sigma: Sigma<NodeAttributes, EdgeAttributes>, labels: Labels): void {
    const context = sigma.getCanvases().edgeLabels?.getContext("2d");
    if (!context) return;
    sigma.on("afterRender", () => {
      for (const key of this.keys) drawLoop(key, sigma, context, labels);
    });
  }
}

interface Loop {
  edge: EdgeDisplayData;
  middleX: number;
  middleY: number;
  radius: number;
}

/** Where a loop is drawn, in pixels of the view; null where it is not. */
export function findLoop(sigma: Sigma<NodeAttributes, EdgeAttributes>, key: string): Loop | null {
  const graph = sigma.getGraph();
  const edge = graph.hasEdge(key) ? sigma.getEdgeDisplayData(key) : undefined;
  const node = edge === undefined ? undefined : sigma.getNodeDisplayData(graph.source(key));
  if (edge === undefined || node === undefined || edge.hidden || node.hidden) return null;
  const { x, y } = sigma.framedGraphToViewport(node);
  const away = sigma.scaleSize(node.size);
  const radius = Math.max(LEAST, away * 0.7);
  const [middleX, middleY] = [x + (away + radius * 0.4) * 0.71, y - (away + radius * 0.4) * 0.71];
  return { edge, middleX, middleY, radius };
}

function drawLoop(
  key: string,
  sigma: Sigma<NodeAttributes, EdgeAttributes>,
  context: CanvasRenderingContext2D,
  labels: Labels,
): void {
  const loop = findLoop(sigma, key);
  if (loop === null) return;
  const { edge, middleX, middleY, radius } = loop;
  context.beginPath();
  context.arc(middleX, middleY, radius, FROM, TO);
  context.lineWidth = Math.max(1.5, edge.size);
  context.strokeStyle = edge.color;
  context.stroke();
  if (!edge.label) return;
  const settings = sigma.getSettings();
  context.font = `${settings.edgeLabelWeight} ${settings.edgeLabelSize}px ${settings.edgeLabelFont}`;
  const [left, base] = [middleX + radius + 3, middleY];
  const half = settings.edgeLabelSize / 2;
  const width = context.measureText(edge.label).width;
  const room = { left, top: base - half, right: left + width, bottom: base + half };
  if (labels.of(context)?.takeAlong(key, [room]) !== true) return;
  context.fillStyle = edge.color;
  context.fillText(edge.label, left, base + settings.edgeLabelSize / 3);
}
