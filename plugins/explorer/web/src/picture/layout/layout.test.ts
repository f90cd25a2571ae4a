import fc from "fast-check";
import iterate from "graphology-layout-forceatlas2/iterate";
import { describe, expect, test } from "vitest";

import { buildTask, countGroups, measureUnrest, readPositions } from "./force";
import { buildParents, placeInLayers, type Link } from "./hierarchy";
import { placeInCircle, placeInGrid, placeSeed } from "./shapes";

const link = (source: string, target: string, name: string): Link => ({ source, target, name });

describe("layers", () => {
  const nodes = ["site", "b1", "b2", "r1", "r2", "s1"];
  const links = [
    link("r1", "r2", "adjacentTo"),
    link("site", "b1", "contains"),
    link("site", "b2", "contains"),
    link("b1", "r1", "contains"),
    link("b1", "r2", "contains"),
    link("s1", "r1", "locatedIn"),
  ];

  test("parts hang on their wholes, whichever way relationships say it", () => {
    const parents = buildParents(nodes, links);
    expect(Object.fromEntries(parents)).toEqual({
      b1: "site",
      b2: "site",
      r1: "b1",
      r2: "b1",
      s1: "r1",
    });
  });

  test("children are below their parents, and none share a place", () => {
    const places = placeInLayers(nodes, links);
    const at = (id: string) => places[nodes.indexOf(id)] ?? { x: 0, y: 0 };
    expect(at("b1").y).toBeLessThan(at("site").y);
    expect(at("s1").y).toBeLessThan(at("r1").y);
    expect(new Set(places.map(({ x, y }) => `${x},${y}`)).size).toBe(nodes.length);
  });

  test("no parent is among those below, whatever the relationships", () => {
    const id = fc.integer({ min: 0, max: 12 }).map(String);
    const some = fc.array(fc.record({ source: id, target: id, name: fc.constantFrom("a", "b") }));
    const all = Array.from({ length: 13 }, (_, at) => String(at));
    fc.assert(
      fc.property(some, (given) => {
        const parents = buildParents(all, given);
        for (const start of all) {
          let steps = 0;
          for (let at: string | undefined = start; at !== undefined; at = parents.get(at)) {
            steps += 1;
            expect(steps).toBeLessThanOrEqual(all.length);
          }
        }
      }),
    );
  });
});

describe("shapes", () => {
  test("no two nodes stand at one place", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300 }), (count) => {
        const seeds = Array.from({ length: count }, (_, at) => placeSeed(at));
        for (const places of [placeInGrid(count), placeInCircle(count), seeds]) {
          expect(places).toHaveLength(count);
          expect(new Set(places.map(({ x, y }) => `${x},${y}`)).size).toBe(count);
        }
      }),
    );
  });
});

describe("forces", () => {
  test("groups are what nothing leads between", () => {
    expect(countGroups(5, [])).toBe(5);
    expect(
      countGroups(5, [
        [0, 1],
        [1, 2],
        [2, 0],
        [3, 4],
      ]),
    ).toBe(2);
  });

  test("related nodes come together, and pinned ones stay where they are", () => {
    const places = [0, 1, 2, 3].map((at) => ({ x: at * 100, y: at % 2 ? 30 : 0 }));
    const task = buildTask(
      places,
      [true, false, false, false],
      [
        [0, 3],
        [1, 2],
      ],
    );
    for (let at = 0; at < task.iterations; at++) iterate(task.settings, task.nodes, task.edges);
    const made = readPositions(task.nodes);
    const distance = (one: number, other: number) =>
      Math.hypot(
        (made[2 * one] ?? 0) - (made[2 * other] ?? 0),
        (made[2 * one + 1] ?? 0) - (made[2 * other + 1] ?? 0),
      );
    expect([made[0], made[1]]).toEqual([0, 0]);
    expect(distance(0, 3)).toBeLessThan(distance(0, 1));
    expect(distance(1, 2)).toBeLessThan(distance(1, 3));
  });

  test("what does not move is at rest", () => {
    const here = new Float32Array([0, 0, 10, 0]);
    expect(measureUnrest(here, here)).toBe(0);
    expect(measureUnrest(here, new Float32Array([0, 0, 10, 5]))).toBeGreaterThan(0.1);
  });
});
