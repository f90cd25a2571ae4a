import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { gunzipSync } from "node:zlib";

import iterate from "graphology-layout-forceatlas2/iterate";
import { describe, expect, test } from "vitest";

import type { JsonObject, ModelEntry } from "../../api/types";
import { buildContents, listTies } from "../../models/graph/ties";
import { ModelIndex } from "../../models/index";
import { listComponents } from "./components";
import { buildTask, joinGroups, measureUnrest, type ForceInput, type ForceTask } from "./force";
import { measureScale } from "./pack";
import {
  buildCampus,
  buildDice,
  buildMesh,
  buildRandomTree,
  measureClosest,
  measureDistance,
  type SampleGraph,
} from "./sampleGraphs";
import { placeSeed } from "./shapes";

const VIEW = { width: 900, height: 450 };

function run(task: ForceTask): void {
  for (const { iterations, settings, nodes, edges } of task.groups) {
    for (let at = 0; at < iterations; at++) iterate(settings, nodes, edges);
  }
}

interface Given extends Pick<ForceInput, "places" | "pinned" | "sizes"> {
  pairs: readonly (readonly [number, number])[];
}

function buildInput({ pairs, ...given }: Given): ForceInput {
  const links = pairs.map(([one, other]) => {
    return { source: String(one), target: String(other), name: "has" };
  });
  return { ...given, nodes: given.places.map((_, at) => String(at)), links, view: VIEW };
}

describe("forces", () => {
  test("components are what nothing leads between", () => {
    expect(listComponents(3, [])).toEqual([[0], [1], [2]]);
    expect(
      listComponents(5, [
        [0, 1],
        [1, 2],
        [2, 0],
        [3, 4],
      ]),
    ).toEqual([
      [0, 1, 2],
      [3, 4],
    ]);
  });

  test("related nodes come together, and pinned ones stay where they are", () => {
    const task = buildTask(
      buildInput({
        places: [0, 1, 2, 3].map((at) => ({ x: at * 100, y: at % 2 ? 30 : 0 })),
        pinned: [true, false, false, false],
        sizes: [5, 5, 5, 5],
        pairs: [
          [0, 3],
          [1, 2],
        ],
      }),
    );
    run(task);
    const made = joinGroups(task, true);
    expect([made[0], made[1]]).toEqual([0, 0]);
    expect(measureDistance(made, 0, 3)).toBeLessThan(50);
    expect(measureDistance(made, 1, 2)).toBeLessThan(50);
  });

  test("what comes without a way to what is pinned goes below it", () => {
    const task = buildTask(
      buildInput({
        places: [0, 1, 2, 3].map((at) => ({ x: at, y: 0 })),
        pinned: [true, true, false, false],
        sizes: [5, 5, 5, 5],
        pairs: [
          [0, 1],
          [2, 3],
        ],
      }),
    );
    run(task);
    const made = joinGroups(task, true);
    expect([...made.slice(0, 4)]).toEqual([0, 0, 1, 0]);
    expect(Math.max(made[5] ?? 0, made[7] ?? 0)).toBeLessThan(0);
  });

  test("with all in view no node covers another, and components stand apart", () => {
    // Hubs with many leaves, as levels with their rooms, a chain, and some that are alone.
    const pairs: [number, number][] = [];
    for (const hub of [0, 50, 100]) {
      for (let leaf = 1; leaf < 50; leaf++) pairs.push([hub, hub + leaf]);
    }
    for (let at = 150; at < 180; at++) pairs.push([at, at + 1]);
    const sizes = Array.from({ length: 200 }, (_, at) => (at % 50 === 0 ? 10 : 6));
    const places = sizes.map((_, at) => placeSeed(at));
    const pinned = sizes.map(() => false);
    const task = buildTask(buildInput({ places, pinned, sizes, pairs }));
    run(task);
    const made = joinGroups(task, true);
    const xs = [...made].filter((_, at) => at % 2 === 0);
    const ys = [...made].filter((_, at) => at % 2 === 1);
    const scale = measureScale(
      {
        width: Math.max(...xs) - Math.min(...xs),
        height: Math.max(...ys) - Math.min(...ys),
      },
      VIEW,
    );
    const drawn = sizes.map((size) => size * scale);
    expect(measureClosest(made, drawn)).toBeGreaterThan(1);
    const boxes = task.groups.map(({ members }) => ({
      left: Math.min(...members.map((at) => xs[at] ?? 0)),
      right: Math.max(...members.map((at) => xs[at] ?? 0)),
      low: Math.min(...members.map((at) => ys[at] ?? 0)),
      high: Math.max(...members.map((at) => ys[at] ?? 0)),
    }));
    boxes.forEach((one, first) => {
      for (const other of boxes.slice(first + 1)) {
        const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        const along = Math.min(one.high, other.high) - Math.max(one.low, other.low);
        expect(Math.min(across, along)).toBeLessThan(0);
      }
    });
  });

  test("what does not move is at rest", () => {
    const here = new Float32Array([0, 0, 10, 0]);
    expect(measureUnrest(here, here)).toBe(0);
    expect(measureUnrest(here, new Float32Array([0, 0, 10, 5]))).toBeGreaterThan(0.1);
  });
});

describe("forces keep together what is related", () => {
  /** The places of all, as the worker tells them at its end. */
  function layOut({ nodes, links }: SampleGraph): Float32Array {
    const degrees = new Map<string, number>();
    for (const { source, target } of links) {
      for (const end of [source, target]) degrees.set(end, (degrees.get(end) ?? 0) + 1);
    }
    const base = Math.min(11, Math.max(2.2, 0.16 * Math.sqrt((1000 * 600) / nodes.length)));
    const task = buildTask({
      nodes,
      links,
      places: nodes.map((_, at) => placeSeed(at)),
      pinned: nodes.map(() => false),
      sizes: nodes.map((id) => base * (1 + 0.12 * Math.log2(1 + (degrees.get(id) ?? 0)))),
      view: { width: 1000, height: 600 },
    });
    run(task);
    return joinGroups(task, true);
  }

  /** The mean length of a relationship over the mean distance of any two nodes. */
  function measureEdges({ nodes, links }: SampleGraph, at: Float32Array): number {
    const indexes = new Map(nodes.map((id, index) => [id, index]));
    const indexOf = (id: string): number => indexes.get(id) ?? -1;
    const mean = (pairs: readonly [number, number][]): number =>
      pairs.reduce((sum, [one, other]) => sum + measureDistance(at, one, other), 0) / pairs.length;
    const dice = buildDice(3);
    const any = (): number => Math.floor(dice() * nodes.length);
    const pairs = Array.from({ length: 20_000 }, (): [number, number] => [any(), any()]);
    return (
      mean(links.map(({ source, target }) => [indexOf(source), indexOf(target)])) / mean(pairs)
    );
  }

  /** The share of those on floors that are closer to their floor than to any other. */
  function measureFloors({ nodes, floors }: SampleGraph, at: Float32Array): number {
    const indexes = new Map(nodes.map((id, index) => [id, index]));
    const all = [...new Set(floors.values())];
    const away = (id: string, floor: string): number =>
      measureDistance(at, indexes.get(id) ?? -1, indexes.get(floor) ?? -1);
    const right = [...floors].filter(([id, own]) => {
      const here = away(id, own);
      return all.every((floor) => floor === own || away(id, floor) > here);
    });
    return right.length / floors.size;
  }

  test.each([
    ["the sample campus", buildCampus({ buildings: 4, levels: 6, rooms: 17 }), 2001],
    ["a building of 5,000", buildCampus({ buildings: 1, levels: 36, rooms: 30 }), 5151],
  ])("in %s, each on its own floor", (_, graph, count) => {
    expect(graph.nodes).toHaveLength(count);
    const made = layOut(graph);
    expect(measureEdges(graph, made)).toBeLessThanOrEqual(0.25);
    expect(measureFloors(graph, made)).toBeGreaterThanOrEqual(0.95);
  });

  test.each([
    ["a tree that has grown at random", buildRandomTree(2000)],
    ["devices in rooms and in systems at once", buildMesh(45, 20)],
  ])("in %s", (_, graph) => {
    expect(measureEdges(graph, layOut(graph))).toBeLessThanOrEqual(0.25);
  });

  const file =
    process.env["TWINFRAME_REC_MODELS"] ??
    resolve(import.meta.dirname, "../../../../../../../shared/data/rec-building-models.jsonl.gz");
  // It is not part of the project: CONTRIBUTING.md says where it is looked for.
  test.skipIf(!existsSync(file))("in the models of RealEstateCore", () => {
    const lines = gunzipSync(readFileSync(file)).toString().trim().split("\n");
    const entries = lines.map((line): ModelEntry => {
      const model = JSON.parse(line) as JsonObject;
      const uploadTime = "2026-01-01T00:00:00Z";
      return { id: String(model["@id"]), uploadTime, decommissioned: false, model };
    });
    const index = new ModelIndex(entries);
    const { nodes, edges } = buildContents(index, listTies(index));
    const links = [...edges.values()].map((one) => {
      return { source: one.$sourceId, target: one.$targetId, name: one.$relationshipName };
    });
    const graph = { nodes: [...nodes.keys()], links, floors: new Map<string, string>() };
    expect(graph.nodes.length).toBeGreaterThan(700);
    expect(measureEdges(graph, layOut(graph))).toBeLessThanOrEqual(0.25);
  });
});
