import type { MouseCoords } from "sigma/types";

import { beginsLine, bindDrawing, isPinch } from "./drawing";
import { findEdge, type Point } from "./hit";
import type { Painter } from "./Painter";

/** Two clicks within this time, in milliseconds, and so many pixels are a double click. */
export const DOUBLE_CLICK = 500;
const SAME_SPOT = 8;

/** So many pixels beside a relationship it is hit still: by a pointer, and by a finger. */
const AIMED = 8;
const TOUCHED = 16;

/** What the pointer does on the drawing, in words of the picture. */
export interface PointerHandlers {
  onNode(id: string, several: boolean): void;
  onOpen(id: string): void;
  onMenu(id: string, at: { x: number; y: number }): void;
  onEdge(key: string): void;
  onEdgeMenu(key: string, at: { x: number; y: number }): void;
  onGround(): void;
  onBox(ids: string[], several: boolean): void;
  onDropped(ids: readonly string[]): void;
  /** The twins that are dragged with one of them. */
  listDragged(id: string): readonly string[];
  /** Whether relationships may be drawn. */
  mayDraw(): boolean;
  /** The frame that is drawn with the shift key, in pixels of the container; null is none. */
  onFrame(frame: Frame | null): void;
}

export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Binds the events of sigma. They end with the painter. */
export function bindPointer(painter: Painter, handlers: PointerHandlers): void {
  const { sigma } = painter;
  sigma.on("rightClickNode", (payload) => {
    payload.event.original.preventDefault();
    handlers.onMenu(payload.node, payload.event);
  });
  sigma.on("rightClickStage", ({ event }) => {
    const edge = findEdgeAt(painter, event);
    if (edge !== null) handlers.onEdgeMenu(edge, event);
  });
  bindHover(painter);
  bindClicks(painter, handlers);
  bindDragging(painter, handlers);
  bindDrawing(painter, handlers.mayDraw);
  bindFrame(painter, handlers);
}

/** The relationship that a pointer at the ground is meant to hit; a finger hits less well. */
function findEdgeAt({ sigma, hitsEdges }: Painter, event: MouseCoords): string | null {
  const { original } = event;
  const isTouch =
    "touches" in original || (original instanceof PointerEvent && original.pointerType === "touch");
  return hitsEdges ? findEdge(sigma, event, isTouch ? TOUCHED : AIMED) : null;
}

/** Twins and relationships below the pointer are told apart. */
function bindHover(painter: Painter): void {
  const { sigma } = painter;
  const host = sigma.getContainer();
  let node: string | null = null;
  const show = (edge: string | null): void => {
    host.style.cursor = node === null && edge === null ? "" : "pointer";
    painter.setNear(node, edge);
  };
  sigma.on("enterNode", (payload) => {
    ({ node } = payload);
    show(null);
  });
  sigma.on("leaveNode", () => {
    node = null;
    show(null);
  });
  sigma.on("leaveStage", () => show(null));
  sigma.on("moveBody", ({ event }) => {
    const { target } = event.original;
    const isHere = target instanceof Node && host.contains(target);
    if (node !== null || !isHere || "touches" in event.original || painter.isMoved()) return;
    show(findEdgeAt(painter, event));
  });
}

interface Hit {
  node?: string;
  edge?: string;
  event: MouseCoords;
}

/** Single and double clicks: the second is at what the first was at, wherever that has moved since. */
function bindClicks(painter: Painter, handlers: PointerHandlers): void {
  const { sigma } = painter;
  let first: (Hit & { time: number }) | null = null;
  const click = (hit: Hit): void => {
    first = { ...hit, time: Date.now() };
    const several = isSeveral(hit.event.original);
    if (hit.node !== undefined) handlers.onNode(hit.node, several);
    else if (hit.edge !== undefined) handlers.onEdge(hit.edge);
    else if (!several) handlers.onGround();
  };
  const hitEdge = (hit: Hit): Hit => {
    const edge = findEdgeAt(painter, hit.event);
    return edge === null ? hit : { ...hit, edge };
  };
  const doubleClick = (hit: Hit & { preventSigmaDefault(): void }): void => {
    const before = first;
    first = null;
    const isSame =
      before !== null &&
      Date.now() - before.time <= DOUBLE_CLICK &&
      Math.hypot(hit.event.x - before.event.x, hit.event.y - before.event.y) <= SAME_SPOT;
    // On the ground it zooms, as sigma does.
    if (isSame && before.node === undefined && before.edge === undefined) return;
    hit.preventSigmaDefault();
    // NOTE: sigma counts any two clicks, however far apart.
    if (!isSame) click(hit.node === undefined ? hitEdge(hit) : hit);
    else if (before.node !== undefined) handlers.onOpen(before.node);
  };
  sigma.on("clickNode", click);
  sigma.on("clickStage", (hit) => click(hitEdge(hit)));
  sigma.on("doubleClickNode", doubleClick);
  sigma.on("doubleClickStage", doubleClick);
}

function isSeveral(event: MouseEvent | TouchEvent): boolean {
  return event.shiftKey || event.ctrlKey || event.metaKey;
}

function bindDragging(painter: Painter, handlers: PointerHandlers): void {
  const { sigma, graph } = painter;
  let dragged: { ids: readonly string[]; from: Point; moved: boolean } | null = null;
  const drop = (): void => {
    if (dragged?.moved) handlers.onDropped(dragged.ids);
    dragged = null;
  };
  sigma.on("downNode", ({ node, event }) => {
    if (isPinch(event.original)) return drop();
    if ("button" in event.original && event.original.button !== 0) return;
    if (beginsLine(event.original) && handlers.mayDraw()) return;
    dragged = { ids: handlers.listDragged(node), from: sigma.viewportToGraph(event), moved: false };
  });
  sigma.on("moveBody", (payload) => {
    if (isPinch(payload.event.original)) drop();
    if (dragged === null) return;
    payload.preventSigmaDefault();
    payload.event.original.preventDefault();
    // While one drags, the view must not follow the new bounds of the graph.
    if (!dragged.moved) sigma.setCustomBBox(sigma.getBBox());
    const to = sigma.viewportToGraph(payload.event);
    for (const id of dragged.ids) {
      if (!graph.hasNode(id)) continue;
      const { x, y } = graph.getNodeAttributes(id);
      const place = { x: x + to.x - dragged.from.x, y: y + to.y - dragged.from.y };
      painter.board.places.set(id, place);
      graph.mergeNodeAttributes(id, place);
    }
    dragged = { ...dragged, from: to, moved: true };
  });
  sigma.on("upNode", drop);
  sigma.on("upStage", drop);
  sigma.on("leaveStage", drop);
}

function bindFrame(painter: Painter, handlers: PointerHandlers): void {
  const { sigma, graph } = painter;
  let from: Point | null = null;
  let frame: Frame | null = null;
  sigma.on("downStage", (payload) => {
    if (!payload.event.original.shiftKey) return;
    payload.preventSigmaDefault();
    from = { x: payload.event.x, y: payload.event.y };
  });
  sigma.on("moveBody", (payload) => {
    if (from === null) return;
    payload.preventSigmaDefault();
    const { x, y } = payload.event;
    frame = {
      left: Math.min(from.x, x),
      top: Math.min(from.y, y),
      width: Math.abs(x - from.x),
      height: Math.abs(y - from.y),
    };
    handlers.onFrame(frame);
  });
  const end = (): void => {
    if (frame !== null) {
      const { left, top, width, height } = frame;
      const inside = graph.nodes().filter((id) => {
        if (sigma.getNodeDisplayData(id)?.hidden) return false;
        const { x, y } = sigma.graphToViewport(graph.getNodeAttributes(id));
        return x >= left && x <= left + width && y >= top && y <= top + height;
      });
      handlers.onBox(inside, true);
      handlers.onFrame(null);
    }
    from = null;
    frame = null;
  };
  sigma.on("upStage", end);
  sigma.on("upNode", end);
  sigma.on("leaveStage", end);
}
