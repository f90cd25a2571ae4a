import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { GraphClient } from "../api/graph";
import type { ModelEntry, Relationship, Twin } from "../api/types";
import type { Change } from "../live/changes";
import { ModelIndex } from "../models/index";
import { pathOf } from "./actions";
import { readRelationships } from "./ask";
import { Crowd, type Rectangle } from "./crowd";
import { placeLabels, type Wish } from "./labels";
import { listCurves } from "./curves";
import { buildLayoutDocument, readLayoutDocument } from "./document";
import { compileFilter } from "./filter";
import { findNearest, findProblem } from "./filterProblem";
import {
  addTo,
  edgeKey,
  EMPTY,
  findPath,
  labelOf,
  listLeaves,
  readEdgeKey,
  removeFrom,
} from "./model";
import { NOTHING_HIDDEN, places, usePicture } from "./store";
import { sortChanges } from "./useLiveContents";
import { listLegend, listVisible } from "./visible";
import { findNext } from "./walk";

function twin(id: string, model = "dtmi:x:Room;1", members: object = {}): Twin {
  return { $dtId: id, $etag: "1", $metadata: { $model: model }, ...members } as Twin;
}

function relationship(source: string, target: string, name = "has"): Relationship {
  return {
    $relationshipId: `${name}-${target}`,
    $relationshipName: name,
    $sourceId: source,
    $targetId: target,
    $etag: "1",
  };
}

const HALL = addTo(
  EMPTY,
  [twin("a", "dtmi:x:Hall;1", { name: "Great Hall", area: 40 }), twin("b"), twin("c"), twin("d")],
  [relationship("a", "b"), relationship("b", "c"), relationship("a", "d", "near")],
);
const INDEX = new ModelIndex([]);

describe("the contents of a picture", () => {
  test("an end that is not known becomes a node, and its document comes later", () => {
    const first = addTo(EMPTY, [], [relationship("a", "b")]);
    expect([...first.nodes]).toEqual([
      ["a", null],
      ["b", null],
    ]);
    const then = addTo(first, [twin("a")], []);
    expect(then.nodes.get("a")?.$dtId).toBe("a");
    expect(then.edges.size).toBe(1);
  });

  test("a twin that goes takes its relationships along", () => {
    const left = removeFrom(HALL, new Set(["b"]));
    expect([...left.nodes.keys()]).toEqual(["a", "c", "d"]);
    expect([...left.edges.keys()]).toEqual([edgeKey("a", "near-d")]);
  });

  test("too many are left out, and counted", () => {
    const many = Array.from({ length: 20_003 }, (_, at) => twin(`t${at}`));
    const contents = addTo(EMPTY, many, [relationship("t20002", "t1")]);
    expect(contents.nodes.size).toBe(20_000);
    expect(contents.left.nodes).toBeGreaterThanOrEqual(3);
    expect(contents.edges.size).toBe(0);
  });

  test("the key of an edge gives source and id back", () => {
    const id = fc.string().filter((text) => !text.includes("\n"));
    fc.assert(
      fc.property(id, id, (sourceId, one) => {
        expect(readEdgeKey(edgeKey(sourceId, one))).toEqual({ sourceId, id: one });
      }),
    );
  });

  test("leaves hang on one twin alone", () => {
    expect(listLeaves(HALL, "a")).toEqual(["d"]);
    expect(listLeaves(HALL, "b")).toEqual(["c"]);
  });

  test("a name is the label, and the id where there is none", () => {
    expect(labelOf("a", HALL.nodes.get("a"))).toBe("Great Hall");
    expect(labelOf("b", HALL.nodes.get("b"))).toBe("b");
  });
});

describe("labels", () => {
  const box = (left: number, top: number, width = 100): Rectangle => {
    return { left, top, right: left + width, bottom: top + 14 };
  };

  test("never cover each other, and what has room is drawn", () => {
    const place = fc.tuple(fc.nat(600), fc.nat(300), fc.integer({ min: 5, max: 300 }));
    fc.assert(
      fc.property(fc.array(place, { maxLength: 60 }), (places) => {
        const crowd = new Crowd();
        const drawn: Rectangle[] = [];
        places.forEach((one) => {
          const room = box(...one);
          const isFree = drawn.every(
            ({ left, right, top, bottom }) =>
              right <= room.left || room.right <= left || bottom <= room.top || room.bottom <= top,
          );
          expect(crowd.take(room)).toBe(isFree);
          if (isFree) drawn.push(room);
        });
      }),
    );
  });

  const VIEW = { width: 400, height: 300 };
  const wish = (x: number, y: number, radius = 8, width = 80): Wish => {
    return { x, y, radius, width, height: 16, isHub: radius === 12, draw: () => undefined };
  };
  const around = (one: Wish): Rectangle => {
    const { x, y, radius } = one;
    return { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius };
  };
  const crowdOf = (wishes: readonly Wish[]): Crowd => {
    const crowd = new Crowd();
    for (const one of wishes) crowd.add(around(one));
    return crowd;
  };
  const place = (...wishes: Wish[]): Map<Wish, Rectangle> => {
    return new Map(placeLabels(wishes, crowdOf(wishes), new Crowd(), VIEW));
  };

  test("stand at the right, and at the left where they would be cut", () => {
    const [middle, border] = [wish(100, 100), wish(380, 100)];
    const placed = place(middle, border);
    expect(placed.get(middle)?.left).toBeGreaterThan(100 + 8);
    expect(placed.get(border)?.right).toBeLessThan(380 - 8);
  });

  test("of hubs come first, whatever the order", () => {
    const [leaf, hub] = [wish(100, 100, 6, 90), wish(105, 118, 12, 90)];
    const others = Array.from({ length: 6 }, (_, at) => wish(300, 20 + 40 * at, 6));
    const placed = place(leaf, ...others, hub);
    expect([...placed.keys()][0]).toBe(hub);
    expect(placed.get(hub)?.left).toBeGreaterThan(105 + 12);
  });

  test("cover no other node while there are others to show", () => {
    // A block of nodes so close that none inside has room, with a hub in the middle.
    const block = Array.from({ length: 49 }, (_, at) =>
      wish(140 + 20 * (at % 7), 80 + 20 * Math.floor(at / 7), at === 24 ? 12 : 8, 60),
    );
    const nodes = crowdOf(block);
    const placed = place(...block);
    const hub = block[24];
    expect(hub !== undefined && placed.has(hub)).toBe(true);
    expect(placed.size).toBeGreaterThan(10);
    for (const [one, room] of placed) if (one !== hub) expect(nodes.meets(room)).toBe(false);
  });

  test("are drawn over nodes where there would be none else", () => {
    const close = Array.from({ length: 400 }, (_, at) =>
      wish(20 * (at % 20), 15 * Math.floor(at / 20), 10, 60),
    );
    expect(place(...close).size).toBe(10);
  });

  test("never cover each other, and are in the view", () => {
    const some = fc.record({
      x: fc.nat(400),
      y: fc.nat(300),
      radius: fc.integer({ min: 2, max: 15 }),
      width: fc.integer({ min: 5, max: 150 }),
    });
    fc.assert(
      fc.property(fc.array(some, { maxLength: 60 }), (given) => {
        const rooms = [
          ...place(...given.map(({ x, y, radius, width }) => wish(x, y, radius, width))).values(),
        ];
        const crowd = new Crowd();
        for (const room of rooms) {
          expect(crowd.take(room)).toBe(true);
          expect(Math.min(room.left, room.top)).toBeGreaterThanOrEqual(0);
          expect(room.right <= VIEW.width && room.bottom <= VIEW.height).toBe(true);
        }
      }),
    );
  });
});

describe("relationships of the same two twins", () => {
  const curvesOf = (...some: Relationship[]) => {
    const curves = listCurves(addTo(EMPTY, [], some).edges);
    // To which side, seen from the twin whose id comes first.
    return some.map((one) => {
      const curve = curves.get(edgeKey(one.$sourceId, one.$relationshipId)) ?? 0;
      return one.$sourceId < one.$targetId || curve === 0 ? curve : -curve;
    });
  };

  test("bend each its own way, whichever way they lead; all others are straight", () => {
    expect(curvesOf(relationship("a", "b"), relationship("b", "c"))).toEqual([0, 0]);
    expect(curvesOf(relationship("a", "a"), relationship("a", "a", "near"))).toEqual([0, 0]);
    const [there, back] = curvesOf(relationship("a", "b"), relationship("b", "a"));
    expect(there).toBeLessThan(0);
    expect(back).toBe(-(there ?? 0));
    const names = Array.from({ length: 9 }, (_, at) => `n${at}`);
    const bends = curvesOf(
      ...names.map((name, at) => {
        return at % 2 ? relationship("b", "a", name) : relationship("a", "b", name);
      }),
    );
    expect(new Set(bends).size).toBe(9);
    expect(bends[4]).toBe(0);
    expect(Math.max(...bends.map(Math.abs))).toBeLessThan(0.8);
  });
});

describe("a path", () => {
  test("leads either way over relationships", () => {
    expect(findPath(HALL, "c", "d")).toEqual(["c", "b", "a", "d"]);
    expect(findPath(removeFrom(HALL, new Set(["a"])), "c", "d")).toBeNull();
  });

  test("has one relationship for each step", () => {
    const path = pathOf(["c", "b", "a"], HALL.edges.values());
    expect([...path.edges].sort()).toEqual([edgeKey("a", "has-b"), edgeKey("b", "has-c")]);
  });
});

describe("what is hidden", () => {
  test("a hidden model, name or twin takes its edges along", () => {
    const hidden = (part: object) => listVisible(HALL, { ...NOTHING_HIDDEN, ...part }, INDEX);
    expect(hidden({}).edges.size).toBe(3);
    expect([...hidden({ models: new Set(["dtmi:x:Hall;1"]) }).edges]).toEqual([
      edgeKey("b", "has-c"),
    ]);
    expect(hidden({ names: new Set(["near"]) }).edges.size).toBe(2);
    expect(hidden({ names: new Set(["near"]) }).nodes.size).toBe(4);
    expect([...hidden({ focus: new Set(["b"]) }).nodes]).toEqual(["a", "b", "c"]);
    expect([...hidden({ filter: "great" }).nodes]).toEqual(["a"]);
  });

  test("the legend counts all that is there, the most first", () => {
    const hiding = { ...NOTHING_HIDDEN, names: new Set(["near"]), ids: new Set(["c"]) };
    const { models, names } = listLegend(HALL, listVisible(HALL, hiding, INDEX));
    expect(models[0]).toEqual({ id: "dtmi:x:Room;1", count: 3, shown: 2 });
    expect(names).toEqual([
      { id: "has", count: 2, shown: 1 },
      { id: "near", count: 1, shown: 0 },
    ]);
  });
});

describe("a filter", () => {
  const passes = (text: string, document: object = {}) =>
    compileFilter(text)(["b1-r1", "Great Hall", "dtmi:x:Room;1"], document as Twin);

  test("all its words stand somewhere", () => {
    expect(passes("hall B1")).toBe(true);
    expect(passes("hall b2")).toBe(false);
    expect(passes('"great hall"')).toBe(true);
    expect(passes("dtmi:x:Room")).toBe(true);
    expect(passes("")).toBe(true);
  });

  test("conditions ask properties, also within others, as numbers where they are", () => {
    const document = { area: 9, climate: { mode: "auto" }, open: true };
    expect(passes("area>10", document)).toBe(false);
    expect(passes("area<10", document)).toBe(true);
    expect(passes("area>=9 area<=9 area=9", document)).toBe(true);
    expect(passes("climate.mode:AUT", document)).toBe(true);
    expect(passes("climate.mode!=auto", document)).toBe(false);
    expect(passes("open=true", document)).toBe(true);
    expect(passes("missing!=1", document)).toBe(false);
  });

  test("blanks around an operator are of the condition, other than in quotes", () => {
    const document = { area: 9, name: "a > b" };
    expect(passes("area > 10", document)).toBe(false);
    expect(passes("area < 10  hall", document)).toBe(true);
    expect(passes('name="a > b"', document)).toBe(true);
    expect(passes('name="a>b"', document)).toBe(false);
  });

  test("what cannot be meant so says why: half a condition, or a name that nothing has", () => {
    const property = (name: string) => ({ "@type": "Property", name, schema: "double" });
    const climate = { "@type": "Component", name: "climate", schema: "dtmi:x:Climate;1" };
    const models = [
      { "@id": "dtmi:x:Climate;1", "@type": "Interface", contents: [property("target")] },
      { "@id": "dtmi:x:Room;1", "@type": "Interface", contents: [property("area"), climate] },
    ];
    const index = new ModelIndex(
      models.map((model) => ({ id: model["@id"], model }) as unknown as ModelEntry),
    );
    const room = {
      $dtId: "r1",
      $etag: "1",
      $metadata: { $model: "dtmi:x:Room;1" },
      capacity: 4,
      climate: { mode: "auto" },
    };
    const contents = addTo(EMPTY, [room], []);
    const problem = (text: string) => findProblem(text, contents, index);
    expect(problem("capacityy>10")).toBe(
      "No twin here has a member capacityy. Did you mean capacity?",
    );
    expect(problem("climate.mood=auto")).toBe(
      "No twin here has a member climate.mood. Did you mean climate.mode?",
    );
    expect(problem("zzz=1")).toBe("No twin here has a member zzz.");
    expect(problem("hall area >")).toBe("After area> a value is missing.");
    expect(problem("capacity:")).toBe("After capacity: a value is missing.");
    expect(problem("> 10")).toMatch(/^Before > the name of a property is missing/);
    // Those that only the model has are asked for rightly, and words are words.
    for (const text of ["", "hall", "area>1", "climate.target<2", "capacity=4", "dtmi:x:Room;1"]) {
      expect(problem(text)).toBeNull();
    }
  });

  test("the nearest name is the one with the fewest letters changed, if it is near at all", () => {
    expect(findNearest("ara", ["era.x", "area", "name"])).toBe("area");
    expect(findNearest("AREA", ["area"])).toBe("area");
    expect(findNearest("x", ["area"])).toBeNull();
  });

  test("names that every object has are no properties", () => {
    for (const name of ["constructor", "toString", "__proto__", "constructor.name"]) {
      expect(passes(`${name}=x`, { area: 9 })).toBe(false);
      expect(passes(`${name}:x`, { area: 9 })).toBe(false);
    }
    expect(passes("toString=own", { toString: "own" })).toBe(true);
  });

  test("large whole numbers are told apart", () => {
    const document = { count: 9223372036854775807n, small: 5 };
    expect(passes("count=9223372036854775807", document)).toBe(true);
    expect(passes("count=9223372036854775806", document)).toBe(false);
    expect(passes("count>9223372036854775806 count<=9223372036854775807", document)).toBe(true);
    expect(passes("count>1e18 small<9223372036854775807 small>4.5", document)).toBe(true);
    expect(passes("count:775807", document)).toBe(true);
  });

  test("no text breaks it", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(typeof passes(text, { area: 1 })).toBe("boolean");
      }),
    );
  });
});

describe("the arrow keys", () => {
  test("lead to what lies ahead, rather than near but aside", () => {
    const from = { id: "o", x: 0, y: 0 };
    const around = [
      { id: "right", x: 5, y: 0.5 },
      { id: "aside", x: 1, y: 3 },
      { id: "up", x: 0, y: 2 },
    ];
    expect(findNext(from, around, "ArrowRight")).toBe("right");
    expect(findNext(from, around, "ArrowUp")).toBe("up");
    expect(findNext(from, around, "ArrowLeft")).toBeNull();
  });
});

describe("changes of the graph", () => {
  const time = "";
  const made = (sourceId: string, targetId: string): Change => {
    return { kind: "relationship", verb: "create", id: "r", time, paths: [], sourceId, targetId };
  };

  test("the last word on each holds, and others do not matter", () => {
    const sorted = sortChanges(
      [
        { kind: "twin", verb: "update", id: "a", paths: [], time },
        { kind: "twin", verb: "delete", id: "a", paths: [], time },
        { kind: "twin", verb: "update", id: "b", paths: [], time },
        { kind: "twin", verb: "update", id: "elsewhere", paths: [], time },
        made("b", "c"),
        made("c", "elsewhere"),
        { ...made("a", "b"), verb: "delete", id: "has-b" } as Change,
      ],
      HALL.nodes,
      HALL.edges,
    );
    expect(sorted.gone).toEqual(["a"]);
    expect(sorted.stale).toEqual(["b"]);
    expect(sorted.cut).toEqual([edgeKey("a", "has-b")]);
    expect(sorted.made).toEqual([{ sourceId: "b", id: "r" }]);
  });
});

describe("new relationships", () => {
  test("are read by one query, whatever their number, and no others of the same id", async () => {
    const wanted = Array.from({ length: 60 }, (_, at) => ({ sourceId: `s${at}`, id: "has-x" }));
    const asked: object[] = [];
    const graph = {
      query: (_text: string, { parameters }: { parameters: object }) => {
        asked.push(parameters);
        const value = ["s0", "s1", "other"].map((source) => ({ r: relationship(source, "x") }));
        return Promise.resolve({ value, continuationToken: null });
      },
    } as unknown as GraphClient;
    const found = await readRelationships(graph, wanted);
    expect(asked).toEqual([{ sources: wanted.map((one) => one.sourceId), some: ["has-x"] }]);
    expect(found.map((one) => one.$sourceId)).toEqual(["s0", "s1"]);
    expect(await readRelationships(graph, [])).toEqual([]);
    expect(asked).toHaveLength(1);
  });
});

describe("the store", () => {
  test("what leaves the picture is no longer chosen, pinned or part of a path", () => {
    const { show, choose, pin, setPath, remove } = usePicture.getState();
    show(
      [...HALL.nodes.values()].filter((one) => one !== null),
      [...HALL.edges.values()],
    );
    choose(["a", "b"]);
    pin(["a", "c"], true);
    setPath({ nodes: ["a", "b"], edges: new Set() });
    remove(["a"]);
    const state = usePicture.getState();
    expect(state.chosen).toEqual(["b"]);
    expect([...state.pinned]).toEqual(["c"]);
    expect(state.path).toBeNull();
  });

  test("a saved layout has every twin with its place", () => {
    places.set("b", { x: 1, y: 2 });
    const saved = buildLayoutDocument(HALL, new Set(["b"])) as { nodes: object[]; edges: object[] };
    expect(saved.nodes[1]).toMatchObject({ id: "b", x: 1, y: 2, pinned: true });
    expect(saved.edges).toHaveLength(3);
    places.clear();
    // What had no place yet is left out.
    expect(readLayoutDocument(JSON.stringify(saved), "graph.json")).toEqual([
      { id: "b", x: 1, y: 2, pinned: true },
    ]);
  });

  test("a file that is no saved layout says what is wrong in it, and where", () => {
    const read = (text: string) => () => readLayoutDocument(text, "a.json");
    expect(read("twins")).toThrow(/^a\.json is no JSON .*“Twins and places \(JSON\)” is wanted/);
    expect(read('{"digitalTwinsGraph": {}}')).toThrow(/is a graph, which is imported under Data/);
    expect(read("null")).toThrow("a.json has no list of `nodes`");
    expect(read('{"nodes": [{"x": 1, "y": 2}]}')).toThrow("`nodes[0]` has no `id`");
    expect(read('{"nodes": [null]}')).toThrow("`nodes[0]` has no `id`");
    expect(read('{"nodes": [{"id": "a", "x": 1, "y": "2"}]}')).toThrow(
      'a.json: `nodes[0]` (a): `y` has to be a number; it is "2".',
    );
    expect(read('{"nodes": [{"id": "a", "x": 1}]}')).toThrow("it is missing");
    fc.assert(
      fc.property(fc.json(), (text) => {
        try {
          expect(Array.isArray(read(text)())).toBe(true);
        } catch (error) {
          expect((error as Error).message).toMatch(/^a\.json/);
        }
      }),
      { numRuns: 50 },
    );
  });
});
