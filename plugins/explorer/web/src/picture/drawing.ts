import { create } from "zustand";

import type { Painter } from "./Painter";

interface Point {
  x: number;
  y: number;
}

/** A relationship as it is drawn, in pixels of the container. */
export interface Line {
  source: string;
  /** The twin below the pointer. */
  target: string | null;
  from: Point;
  to: Point;
}

interface DrawingState {
  /** Whether dragging a twin draws a relationship instead of moving it. */
  drawing: boolean;
  line: Line | null;
  /** The twins that are to be connected, which the dialog is about; without a target it asks. */
  ends: { source: string; target?: string } | null;
}

/** Relationships that are drawn by mouse from one twin to another. */
export const useDrawing = create<DrawingState>(() => ({ drawing: false, line: null, ends: null }));

/** Whether two fingers are down: they move the view, even where one of them is on a twin. */
export function isPinch(event: MouseEvent | TouchEvent): boolean {
  return "touches" in event && event.touches.length > 1;
}

/** Whether a press on a twin begins a relationship: with the Alt key, or while one draws. */
export function beginsLine(event: MouseEvent | TouchEvent): boolean {
  const main = !("button" in event) || event.button === 0;
  return main && (event.altKey || useDrawing.getState().drawing);
}

/** Binds the events of sigma. They end with the painter. `may`: whether one may draw at all. */
export function bindDrawing(painter: Painter, may: () => boolean): void {
  const { sigma } = painter;
  const change = (part: Partial<Line>): void => {
    const { line } = useDrawing.getState();
    if (line !== null) useDrawing.setState({ line: { ...line, ...part } });
  };
  const end = (): void => useDrawing.setState({ line: null });
  sigma.on("downNode", (payload) => {
    if (isPinch(payload.event.original)) return end();
    if (!beginsLine(payload.event.original) || !may()) return;
    payload.preventSigmaDefault();
    const { x, y } = payload.event;
    const line = { source: payload.node, target: null, from: { x, y }, to: { x, y } };
    useDrawing.setState({ line });
  });
  sigma.on("enterNode", ({ node }) => change({ target: node }));
  sigma.on("leaveNode", () => change({ target: null }));
  sigma.on("moveBody", (payload) => {
    if (isPinch(payload.event.original)) end();
    if (useDrawing.getState().line === null) return;
    payload.preventSigmaDefault();
    payload.event.original.preventDefault();
    change({ to: { x: payload.event.x, y: payload.event.y } });
  });
  sigma.on("upNode", ({ node }) => {
    const source = useDrawing.getState().line?.source;
    const ends = source === undefined || source === node ? null : { source, target: node };
    useDrawing.setState({ line: null, ...(ends === null ? {} : { ends, drawing: false }) });
  });
  sigma.on("upStage", end);
  sigma.on("leaveStage", end);
}
