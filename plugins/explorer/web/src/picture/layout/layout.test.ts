import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { buildParents, placeInLayers, type Link, type Paper } from "./hierarchy";
import { findLayers, type Order } from "./layers";
import { removeOverlaps, type Circles } from "./overlap";
import { measureScale, packBoxes } from "./pack";
import { measureClosest, measureDistance } from "./sampleGraphs";
import { placeInCircle, placeInGrid, placeInRings, placeSeed } from "./shapes";

const ORDERS: Record<string, Order> = { contains: "down", locatedIn: "up", adjacentTo: "side" };
const link = (source: string, target: string, name: string): Link => {
  return { source, target, name, order: ORDERS[name] ?? "flow" };
};

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

  test("of many wrap: nobody stands on another, and parts are below their wholes", () => {
    const [names, ways] = [["site"], [] as Link[]];
    const hang = (id: string, whole: string): void => {
      names.push(id);
      ways.push(link(whole, id, "contains"));
    };
    for (let level = 0; level < 3; level++) {
      hang(`l${level}`, "site");
      for (let room = 0; room < 20; room++) {
        hang(`l${level}r${room}`, `l${level}`);
        for (let sensor = 0; sensor < 3; sensor++) {
          hang(`l${level}r${room}s${sensor}`, `l${level}r${room}`);
        }
      }
    }
    const made = placeInLayers(names, ways, { view: VIEW, distance: 15 });
    const at = (id: string) => made[names.indexOf(id)] ?? { x: 0, y: 0 };
    for (const { source, target } of ways) expect(at(target).y).toBeLessThan(at(source).y - 0.9);
    const flat = made.flatMap(({ x, y }) => [x, y]);
    const halves = names.map(() => 0.5);
    expect(measureClosest(flat, halves)).toBeGreaterThan(0.999);
    // One row of all sensors would be 180 broad.
    const breadth = Math.max(...made.map(({ x }) => x)) - Math.min(...made.map(({ x }) => x));
    expect(breadth).toBeLessThan(60);
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

describe("layers of a flow", () => {
  const placed = (links: readonly Link[], paper?: Paper) => {
    const nodes = [...new Set(links.flatMap(({ source, target }) => [source, target]))].sort();
    const places = placeInLayers(nodes, links, paper);
    return new Map(nodes.map((id, at) => [id, places[at] ?? { x: 0, y: 0 }]));
  };
  const layersOf = (links: readonly Link[], of = links): Record<string, number> => {
    const nodes = [...new Set(links.flatMap(({ source, target }) => [source, target]))].sort();
    const wanted = new Set(of.flatMap(({ source, target }) => [source, target]));
    return Object.fromEntries([...findLayers(nodes, links).of].filter(([id]) => wanted.has(id)));
  };
  const feeds = (...ways: string[]): Link[] =>
    ways.flatMap((way) => {
      const stops = way.split(" ");
      return stops.slice(1).map((target, at) => link(stops[at] ?? "", target, "feeds"));
    });
  const PLANT = feeds(
    "chiller p1 ahu1 vav1",
    "chiller p2 ahu2 vav2",
    "p1 ahu2",
    "p2 ahu1",
    "ahu1 vav3",
  );

  test("have the source on top and siblings side by side, with several ways to one", () => {
    expect(layersOf(PLANT)).toEqual({
      ...{ chiller: 0, p1: 1, p2: 1, ahu1: 2, ahu2: 2, vav1: 3, vav2: 3, vav3: 3 },
    });
    // One is also fed directly: the longest way holds.
    expect(layersOf([...PLANT, ...feeds("chiller vav3")])).toEqual(layersOf(PLANT));
  });

  test("have as few ties upwards as circles need, and a chain beside them stays as it is", () => {
    const chain = feeds("a b c d");
    const circle = feeds("x y z x", "w x");
    expect(layersOf([...circle, ...chain, ...PLANT], chain)).toEqual({ a: 0, b: 1, c: 2, d: 3 });
    expect(layersOf(circle)).toEqual({ w: 0, x: 1, y: 2, z: 3 });
  });

  test("are below the whole that contains all of it, which no flow turns around", () => {
    const parts = ["p1", "p2", "ahu1"].map((part) => link(part, "plant", "locatedIn"));
    const back = link("p1", "plant", "observes");
    const found = layersOf([back, ...parts, ...feeds("p1 ahu1", "p2 ahu1")]);
    expect(found).toEqual({ plant: 0, p1: 1, p2: 1, ahu1: 2 });
    const rooms = ["r1", "r2", "r3"].map((room) => link("level", room, "contains"));
    const beside = [link("r1", "r2", "adjacentTo"), link("r2", "r3", "adjacentTo")];
    expect(layersOf([...beside, ...rooms])).toEqual({ level: 0, r1: 1, r2: 1, r3: 1 });
    expect(layersOf(beside)).toEqual({ r1: 0, r2: 1, r3: 2 });
  });

  const number = fc.integer({ min: 0, max: 24 });
  const name = fc.constantFrom("feeds", "controls");
  const some = fc.array(fc.tuple(number, number, name), { minLength: 1, maxLength: 60 });
  /** Links from lower to higher numbers make no circle. */
  const acyclic = some.map((all) =>
    all.flatMap(([one, other, kind]) => {
      const [from, to] = [Math.min(one, other), Math.max(one, other)];
      return from === to ? [] : [link(`n${from}`, `n${to}`, kind)];
    }),
  );

  test("run downwards in any acyclic graph, and of a narrow view too, where nobody covers another", () => {
    for (const paper of [undefined, { view: VIEW, distance: 15 }, { view: VIEW, distance: 300 }]) {
      fc.assert(
        fc.property(acyclic, (links) => {
          const at = placed(links, paper);
          for (const { source, target } of links) {
            expect(at.get(target)?.y).toBeLessThan((at.get(source)?.y ?? 0) - 0.9);
          }
          const flat = [...at.values()].flatMap(({ x, y }) => [x, y]);
          const halves = [...at].map(() => 0.5);
          if (halves.length > 1) expect(measureClosest(flat, halves)).toBeGreaterThan(0.999);
        }),
      );
    }
  });

  test("are those of each component alone, whatever is beside it, circles as well", () => {
    const any = some.map((all) =>
      all.map(([one, other, kind]) => link(`n${one}`, `n${other}`, kind)),
    );
    fc.assert(
      fc.property(any, any, (one, more) => {
        const other = more.map(({ source, target, ...rest }) => {
          return { ...rest, source: `m${source}`, target: `m${target}` };
        });
        expect(layersOf([...other, ...one], one)).toEqual(layersOf(one));
      }),
    );
  });
});

describe("shapes", () => {
  test("rings hold each group at places of its own, one apart at least", () => {
    const group = fc.integer({ min: 1, max: 120 });
    fc.assert(
      fc.property(fc.array(group, { minLength: 1, maxLength: 8 }), (groups) => {
        const made = placeInRings(groups);
        const count = groups.reduce((sum, one) => sum + one, 0);
        expect(made.filter((one) => one !== undefined)).toHaveLength(count);
        // On a ring neighbours are one apart along it, which is a little less straight across.
        const halves = made.map(() => 0.5);
        const flat = made.flatMap(({ x, y }) => [x, y]);
        expect(measureClosest(flat, halves)).toBeGreaterThan(0.63);
      }),
      { numRuns: 30 },
    );
  });

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

const VIEW = { width: 900, height: 450 };

describe("what overlaps", () => {
  const circle = fc.record({
    x: fc.integer({ min: -30, max: 30 }),
    y: fc.integer({ min: -30, max: 30 }),
    radius: fc.integer({ min: 1, max: 12 }),
  });
  const build = (given: { x: number; y: number; radius: number }[]): Circles => ({
    at: Float64Array.from(given.flatMap(({ x, y }) => [x, y])),
    radii: Float64Array.from(given, ({ radius }) => radius),
    fixed: new Uint8Array(given.length),
  });

  test("is moved until no two are closer than their sizes; what is fixed stays", () => {
    fc.assert(
      fc.property(fc.array(circle, { maxLength: 60 }), fc.nat(59), (given, held) => {
        const circles = build(given);
        if (held < given.length) circles.fixed[held] = 1;
        removeOverlaps(circles);
        expect(measureClosest(circles.at, circles.radii)).toBeGreaterThan(0.9999);
        const { x, y } = given[held] ?? { x: 0, y: 0 };
        if (held < given.length)
          expect([...circles.at.slice(2 * held, 2 * held + 2)]).toEqual([x, y]);
      }),
    );
  });

  test("at one place parts, however many there are", () => {
    const circles = build(Array.from({ length: 400 }, () => ({ x: 0, y: 0, radius: 1 })));
    removeOverlaps(circles);
    expect(measureClosest(circles.at, circles.radii)).toBeGreaterThan(0.9999);
  });

  test("no more is moved than has to be", () => {
    const circles = build([
      { x: 0, y: 0, radius: 5 },
      { x: 8, y: 0, radius: 5 },
      { x: 100, y: 100, radius: 5 },
    ]);
    removeOverlaps(circles);
    expect([...circles.at.slice(4)]).toEqual([100, 100]);
    expect(measureDistance(circles.at, 0, 1)).toBeLessThan(10.5);
  });
});

describe("boxes", () => {
  test("never cover each other", () => {
    const side = fc.double({ min: 0.1, max: 50, noNaN: true });
    const some = fc.array(fc.record({ width: side, height: side }), { maxLength: 40 });
    fc.assert(
      fc.property(some, (boxes) => {
        const places = packBoxes(boxes, VIEW).map((place, at) => {
          const { width, height } = boxes[at] ?? { width: 0, height: 0 };
          return { ...place, right: place.x + width, top: place.y + height };
        });
        expect(places).toHaveLength(boxes.length);
        places.forEach((one, first) => {
          for (const other of places.slice(first + 1)) {
            const across = Math.min(one.right, other.right) - Math.max(one.x, other.x);
            const along = Math.min(one.top, other.top) - Math.max(one.y, other.y);
            expect(Math.min(across, along)).toBeLessThan(1e-6);
          }
        });
      }),
    );
  });

  test("fill a broad view", () => {
    const places = packBoxes(
      Array.from({ length: 50 }, () => ({ width: 1, height: 1 })),
      VIEW,
    );
    expect(new Set(places.map(({ x }) => x)).size).toBe(10);
    expect(new Set(places.map(({ y }) => y)).size).toBe(5);
  });

  test("are as large as sigma draws them", () => {
    expect(measureScale({ width: 450, height: 450 }, VIEW)).toBeCloseTo(1);
    expect(measureScale({ width: 900, height: 450 }, VIEW)).toBeCloseTo(1);
    expect(measureScale({ width: 900, height: 10 }, VIEW)).toBeCloseTo(1);
    expect(measureScale({ width: 200, height: 450 }, VIEW)).toBeCloseTo(1);
    expect(measureScale({ width: 0, height: 0 }, VIEW)).toBe(0);
  });
});
