/** ForceAtlas2 off the main thread: one task a worker, told step by step; who ends it early ends it. */
import iterate from "graphology-layout-forceatlas2/iterate";

import { measureUnrest, readPositions, type ForceStep, type ForceTask } from "./force";

/** Milliseconds between two steps that are told. */
const CHUNK = 40;
/** Below this the picture stands still to the eye. */
const REST = 0.00002;

declare const self: DedicatedWorkerGlobalScope;

self.onmessage = ({ data }: MessageEvent<ForceTask>) => {
  const { nodes, edges, settings, iterations } = data;
  let before = readPositions(nodes);
  let done = 0;
  const chunk = (): void => {
    const started = performance.now();
    const from = done;
    while (done < iterations && performance.now() - started < CHUNK) {
      iterate(settings, nodes, edges);
      done += 1;
    }
    const positions = readPositions(nodes);
    const atRest = measureUnrest(before, positions) / Math.max(1, done - from) < REST;
    before = positions.slice();
    const progress = atRest ? 1 : done / iterations;
    self.postMessage({ positions, progress } satisfies ForceStep, [positions.buffer]);
    if (progress < 1) setTimeout(chunk);
  };
  chunk();
};
