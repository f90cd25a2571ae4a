import type { LayoutKind, Place } from "../store";
import type { ForceInput, ForceStep } from "./force";
import { placeInLayers, type Link } from "./hierarchy";
import type { View } from "./pack";
import { placeInCircle, placeInGrid, placeInRings } from "./shapes";

/** What is laid out. Nodes are in the order of their models, so that circles and grids group them. */
export interface LayoutInput {
  nodes: readonly string[];
  places: readonly Place[];
  pinned: readonly boolean[];
  links: readonly Link[];
  /** How many nodes there are of each model. */
  groups: readonly number[];
  /** The radii of the nodes in pixels. */
  sizes: readonly number[];
  /** What the picture is drawn in. */
  view: View;
}

export interface LayoutTold {
  /** Places of a step, in the order of the nodes; `last` is the end. */
  onStep(places: readonly Place[], progress: number): void;
  onError(error: Error): void;
}

/** Lay out; returns what stops it. Forces work in a worker, the rest is told at once. */
export function runLayout(kind: LayoutKind, input: LayoutInput, told: LayoutTold): () => void {
  if (kind === "force") return runForce(input, told);
  const made = place(kind, input);
  told.onStep(
    made.map((place, at) => (input.pinned[at] ? (input.places[at] ?? place) : place)),
    1,
  );
  return () => undefined;
}

/** Of two nodes that stand beside each other the middles are apart by so many radii. */
const APART = 2.3;

function place(
  kind: Exclude<LayoutKind, "force">,
  { nodes, links, groups, sizes, view }: LayoutInput,
): Place[] {
  const distance = APART * sizes.reduce((most, size) => Math.max(most, size), 0);
  switch (kind) {
    case "layers":
      return placeInLayers(nodes, links, { view, distance });
    case "circle": {
      const around = Math.PI * Math.min(view.width, view.height);
      return nodes.length * distance <= around ? placeInCircle(nodes.length) : placeInRings(groups);
    }
    case "grid":
      return placeInGrid(nodes.length);
  }
}

function runForce(input: LayoutInput, told: LayoutTold): () => void {
  const worker = new Worker(new URL("./force.worker.ts", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }: MessageEvent<ForceStep>) => {
    told.onStep(readPlaces(data.positions), data.progress);
    if (data.progress >= 1) worker.terminate();
  };
  worker.onerror = (event) => {
    worker.terminate();
    told.onError(new Error(`The layout failed: ${event.message || "its worker did not start"}.`));
  };
  const { nodes, links, places, pinned, sizes, view } = input;
  worker.postMessage({ nodes, links, places, pinned, sizes, view } satisfies ForceInput);
  return () => worker.terminate();
}

function readPlaces(positions: Float32Array): Place[] {
  return Array.from({ length: positions.length / 2 }, (_, at) => ({
    x: positions[2 * at] ?? 0,
    y: positions[2 * at + 1] ?? 0,
  }));
}
