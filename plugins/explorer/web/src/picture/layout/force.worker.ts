/** ForceAtlas2 off the main thread: one task a worker, told step by step; who ends it early ends it. */
import iterate from "graphology-layout-forceatlas2/iterate";

import {
  buildTask,
  joinGroups,
  measureUnrest,
  readPositions,
  type ForceGroup,
  type ForceInput,
  type ForceStep,
} from "./force";

/** Milliseconds between two steps that are told. */
const CHUNK = 40;
/** Rounds of a group before another one has its turn. */
const TURN = 10;
/** Below this the picture stands still to the eye. */
const REST = 0.00002;

declare const self: DedicatedWorkerGlobalScope;

/** How many rounds a group has left. */
interface Work {
  group: ForceGroup;
  left: number;
}

/** Some rounds of a group; none are left of one that is at rest. */
function turn(work: Work): void {
  const { nodes, edges, settings } = work.group;
  const before = readPositions(nodes);
  const rounds = Math.min(TURN, work.left);
  for (let round = 0; round < rounds; round++) iterate(settings, nodes, edges);
  const atRest = measureUnrest(before, readPositions(nodes)) / rounds < REST;
  work.left = atRest ? 0 : work.left - rounds;
}

self.onmessage = ({ data }: MessageEvent<ForceInput>) => {
  const task = buildTask(data);
  const all = task.groups.map((group): Work => ({ group, left: group.iterations }));
  const weigh = (): number => {
    return all.reduce((sum, { group, left }) => sum + left * group.members.length, 0);
  };
  const total = weigh();
  let open = all.filter(({ left }) => left > 0);
  const chunk = (): void => {
    const started = performance.now();
    while (open.length > 0 && performance.now() - started < CHUNK) {
      for (const work of open) turn(work);
      open = open.filter(({ left }) => left > 0);
    }
    const last = open.length === 0;
    const positions = joinGroups(task, last);
    const progress = last ? 1 : Math.min(0.99, 1 - weigh() / total);
    self.postMessage({ positions, progress } satisfies ForceStep, [positions.buffer]);
    if (!last) setTimeout(chunk);
  };
  chunk();
};
