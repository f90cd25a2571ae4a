import { QueryClient } from "@tanstack/react-query";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { JsonObject } from "../api/types";
import type { Change } from "../live/changes";
import { buildCounts } from "../models/counts";
import { ModelIndex } from "../models/index";
import type { RestoredTwin } from "../picture/restore";
import { findKind } from "../query/tokens";
import {
  COLUMNS,
  newTile,
  queryOf,
  readDashboard,
  renderDashboard,
  type NumberTile,
  type Place,
  type Tile,
} from "./content";
import { fitPicture } from "./fitPicture";
import { exchange, findRoom, inOrder, moveTile, resizeTile } from "./places";
import { mayChange, readReach } from "./reach";
import { Refresher } from "./rows";
import { suggestTiles } from "./suggest";
import { inTurn, MOST_AT_ONCE } from "./turns";
import { readBars, readNumber, toneOf } from "./values";

function at(id: string, x: number, y: number, w: number, h: number): Tile {
  return { ...newTile("table", { x, y, w, h }), id };
}

function placeOf(tiles: readonly Tile[], id: string): Place | undefined {
  return tiles.find((one) => one.id === id)?.place;
}

function overlaps({ place: one }: Tile, { place: other }: Tile): boolean {
  return (
    one.x < other.x + other.w &&
    other.x < one.x + one.w &&
    one.y < other.y + other.h &&
    other.y < one.y + one.h
  );
}

describe("a picture in a tile", () => {
  const twin = (id: string, x: number | null, y: number | null): RestoredTwin =>
    x === null || y === null
      ? { id, x: null, y: null, pinned: false }
      : { id, x, y, pinned: false };

  test("is all within the tile, in the same shape and upside up, whatever its places are", () => {
    const place = fc.tuple(
      fc.integer({ min: -1e6, max: 1e6 }),
      fc.integer({ min: -1e6, max: 1e6 }),
    );
    fc.assert(
      fc.property(fc.array(place, { minLength: 2, maxLength: 30 }), (places) => {
        const twins = places.map(([x, y], at) => twin(String(at), x, y));
        const points = fitPicture(twins, { width: 400, height: 300 });
        for (const { x, y } of points.values()) {
          expect(x).toBeGreaterThanOrEqual(17);
          expect(x).toBeLessThanOrEqual(383);
          expect(y).toBeGreaterThanOrEqual(17);
          expect(y).toBeLessThanOrEqual(283);
        }
        const [[x0, y0], [x1, y1]] = [places[0] ?? [0, 0], places[1] ?? [0, 0]];
        const [one, other] = [points.get("0"), points.get("1")];
        if (one === undefined || other === undefined) throw new Error("no points");
        expect(Math.sign(Math.round((other.x - one.x) * 1e6))).toBe(Math.sign(x1 - x0) || 0);
        expect(Math.sign(Math.round((one.y - other.y) * 1e6))).toBe(Math.sign(y1 - y0) || 0);
      }),
    );
  });

  test("leaves out twins without a place, and puts a single one in the middle", () => {
    const points = fitPicture([twin("a", 7, 7), twin("b", null, null)], { width: 100, height: 80 });
    expect([...points]).toEqual([["a", { x: 50, y: 40 }]]);
  });
});

describe("the content of a dashboard", () => {
  const number: NumberTile = {
    ...(newTile("number", { x: 0, y: 0, w: 3, h: 2 }) as NumberTile),
    query: "MATCH (n) RETURN count(*) AS n",
    rules: [{ operator: ">", value: 3.5, tone: "danger" }],
    since: "24h",
  };

  test("is read as it was written", () => {
    const picture = { ...newTile("picture", { x: 4, y: 5, w: 4, h: 4 }), workspace: "plant" };
    const text = newTile("text", { x: 0, y: 5, w: 4, h: 1 });
    const tiles = [number, at("a", 3, 0, 6, 5), text, picture] as Tile[];
    const written = JSON.parse(JSON.stringify(renderDashboard(tiles))) as JsonObject;
    expect(readDashboard(written)).toEqual(tiles);
  });

  test.each([
    [{ tiles: 5 }, "`tiles` has to be a list"],
    [{ tiles: [{ id: "a", kind: "cake", place: { x: 0, y: 0, w: 1, h: 1 } }] }, "`tiles[0].kind`"],
    [{ tiles: [{ id: "a", kind: "text" }] }, "`tiles[0].place` has to be an object"],
    [
      { tiles: [{ id: "a", kind: "text", place: { x: 10, y: 0, w: 3, h: 1 } }] },
      "`tiles[0].place.x` has to be a whole number from 0 to 9; it is 10",
    ],
    [
      { tiles: [{ ...number, rules: [{ operator: "~", value: 1, tone: "good" }] }] },
      "rules[0].operator",
    ],
    [{ tiles: [number, number] }, "`tiles[1].id` has to be another"],
  ])("says what of it cannot be read: %j", (content, said) => {
    expect(() => readDashboard(content as unknown as JsonObject)).toThrow(said);
  });
});

describe("places", () => {
  test("of new tiles fill the last row, then begin another", () => {
    const one = at("a", 0, 0, 6, 2);
    expect(findRoom([], { w: 3, h: 2 })).toEqual({ x: 0, y: 0, w: 3, h: 2 });
    expect(findRoom([one], { w: 6, h: 2 })).toEqual({ x: 6, y: 0, w: 6, h: 2 });
    expect(findRoom([one], { w: 7, h: 2 })).toEqual({ x: 0, y: 2, w: 7, h: 2 });
  });

  test("a tile passes the whole of what is below it, and comes back", () => {
    const tiles = [at("a", 0, 0, 4, 2), at("b", 0, 2, 4, 3)];
    const down = moveTile(tiles, "a", { x: 0, y: 1 });
    expect(placeOf(down, "b")).toMatchObject({ y: 0 });
    expect(placeOf(down, "a")).toMatchObject({ y: 3 });
    const up = moveTile(down, "a", { x: 0, y: -1 });
    expect(placeOf(up, "a")).toMatchObject({ y: 0 });
  });

  test("what a tile grows over gives way", () => {
    const tiles = [at("a", 0, 0, 6, 2), at("b", 6, 0, 6, 2)];
    const grown = resizeTile(tiles, "a", { x: 1, y: 0 });
    expect(placeOf(grown, "a")).toEqual({ x: 0, y: 0, w: 7, h: 2 });
    expect(placeOf(grown, "b")).toEqual({ x: 6, y: 2, w: 6, h: 2 });
  });

  test("a tile changes its place with the one before it", () => {
    const tiles = [at("a", 0, 0, 12, 2), at("b", 0, 2, 4, 3)];
    expect(exchange(tiles, "b", -1).map((one) => one.id)).toEqual(["b", "a"]);
    expect(exchange(tiles, "a", -1).map((one) => one.id)).toEqual(["a", "b"]);
  });

  test("whatever is done, tiles stay in the grid and never lie over each other", () => {
    const step = fc.constantFrom({ x: 1, y: 0 }, { x: -1, y: 0 }, { x: 0, y: 1 }, { x: 0, y: -1 });
    const what = fc.constantFrom(moveTile, resizeTile);
    const which = fc.integer({ min: 0, max: 5 });
    fc.assert(
      fc.property(fc.array(fc.tuple(what, which, step), { maxLength: 25 }), (done) => {
        let tiles: Tile[] = [0, 1, 2, 3, 4, 5].map((one) =>
          at(String(one), (one % 3) * 4, Math.floor(one / 3) * 2, 4, 2),
        );
        for (const [act, number, by] of done) tiles = act(tiles, String(number), by);
        for (const one of tiles) {
          expect(one.place.x).toBeGreaterThanOrEqual(0);
          expect(one.place.x + one.place.w).toBeLessThanOrEqual(COLUMNS);
          expect(tiles.filter((other) => other !== one && overlaps(one, other))).toEqual([]);
        }
        expect(inOrder(tiles)).toEqual(tiles);
      }),
    );
  });
});

describe("whether a change may touch a query", () => {
  const twin = (verb: "create" | "update", ...paths: string[]): Change => ({
    kind: "twin",
    verb,
    id: "a",
    paths,
    time: "",
  });
  const relationship: Change = {
    kind: "relationship",
    verb: "create",
    sourceId: "a",
    id: "r",
    targetId: "b",
    paths: [],
    time: "",
  };
  const touched = (text: string, change: Change, rows: JsonObject[] = []): boolean =>
    mayChange(readReach(text), rows, change);

  test("it does where it names the property, or its component", () => {
    const text = "MATCH (r:Room) WHERE r.climate.temperature > 25 RETURN count(*) AS n";
    expect(touched(text, twin("update", "/climate/temperature"))).toBe(true);
    expect(touched(text, twin("update", "/occupied"))).toBe(false);
    expect(touched("SELECT T.name FROM DIGITALTWINS T", twin("update", "/name"))).toBe(true);
    expect(touched("SELECT T.name FROM DIGITALTWINS T", twin("update", "/area"))).toBe(false);
    expect(touched("MATCH (n) RETURN n.`odd~name/x`", twin("update", "/odd~0name~1x"))).toBe(true);
  });

  test("it does where the rows have whole twins, or the text may read any property", () => {
    const whole = [{ n: { $dtId: "a", $metadata: { $model: "m" } } }];
    expect(touched("MATCH (n) RETURN n", twin("update", "/area"), whole)).toBe(true);
    for (const text of [
      "MATCH (n) RETURN properties(n) AS p",
      "MATCH (n) WITH n, 'area' AS k RETURN n[k] AS v",
      "MATCH (n) RETURN n {.*} AS all",
      "MATCH (n) RETURN n.$metadata AS times",
      "MATCH (n) RETURN valueAt(n, 'area') AS a",
    ]) {
      expect(touched(text, twin("update", "/area"))).toBe(true);
    }
    const models = "MATCH (n) RETURN n.$metadata.$model AS model, count(*) AS twins";
    expect(touched(models, twin("update", "/area"))).toBe(false);
    expect(touched(models, twin("update", "/$metadata/$model"))).toBe(true);
  });

  test("it does where twins or models come and go, and relationships where it has some", () => {
    const text = "MATCH (n:Room) RETURN count(*) AS n";
    expect(touched(text, twin("create"))).toBe(true);
    expect(touched(text, { kind: "model", verb: "create", id: "m", time: "" })).toBe(true);
    expect(touched(text, relationship)).toBe(false);
    expect(touched("MATCH (n)-[:feeds]->(m) RETURN count(*)", relationship)).toBe(true);
    expect(touched("MATCH (n) WHERE NOT EXISTS { (n)--() } RETURN n.a", relationship)).toBe(true);
    expect(touched("SELECT T FROM DIGITALTWINS T JOIN R RELATED T.x", relationship)).toBe(true);
    const telemetry = {
      kind: "telemetry",
      id: "a",
      component: null,
      values: {},
      time: "",
    } as const;
    expect(touched(text, telemetry)).toBe(false);
  });

  test("the time that goes on is told from times that stand still", () => {
    expect(readReach("MATCH (n) WHERE n.at < datetime() RETURN n.a").isTimed).toBe(true);
    expect(readReach("MATCH (n) RETURN n.datetime").isTimed).toBe(false);
  });
});

describe("asking anew", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const room: Change = { kind: "twin", verb: "update", id: "a", paths: ["/a"], time: "" };

  test("takes changes together, and waits between two times", async () => {
    const client = new QueryClient();
    const told = vi.spyOn(client, "invalidateQueries");
    const text = "MATCH (n) RETURN n.a";
    const refresher = new Refresher(client, "g", [text, "MATCH (n) RETURN n.b"]);
    refresher.take([room, room]);
    refresher.take([room]);
    await vi.advanceTimersByTimeAsync(500);
    expect(told.mock.calls).toEqual([[{ queryKey: ["tile", "g", text], exact: true }]]);
    for (let time = 0; time < 29_000; time += 100) {
      refresher.take([room]);
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(told.mock.calls.length).toBeGreaterThan(5);
    expect(told.mock.calls.length).toBeLessThanOrEqual(11);
    refresher.end();
    client.clear();
  });

  test("leaves a query that still runs to its end, and then asks once more", async () => {
    const client = new QueryClient();
    const told = vi.spyOn(client, "invalidateQueries");
    const text = "MATCH (n) RETURN n.a";
    let answer = (): void => undefined;
    const queryFn = () => new Promise<unknown>((done) => (answer = () => done({ rows: [] })));
    const running = client.fetchQuery({ queryKey: ["tile", "g", text], queryFn });
    const refresher = new Refresher(client, "g", [text]);
    refresher.take([room]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(told).not.toHaveBeenCalled();
    answer();
    await running;
    await vi.advanceTimersByTimeAsync(4000);
    expect(told).toHaveBeenCalledTimes(1);
    refresher.end();
    client.clear();
  });

  test("fifty tiles ask a few at a time, and who leaves the line is not asked for", async () => {
    let [now, most] = [0, 0];
    const ask = async (): Promise<void> => {
      most = Math.max(most, ++now);
      await new Promise((done) => setTimeout(done, 10));
      now -= 1;
    };
    const leaving = new AbortController();
    const asked = vi.fn(ask);
    const all = Array.from({ length: 50 }, () => inTurn(ask, new AbortController().signal));
    const left = inTurn(asked, leaving.signal).catch((error: unknown) => error);
    leaving.abort();
    await vi.advanceTimersByTimeAsync(2000);
    await Promise.all(all);
    expect(await left).toMatchObject({ name: "AbortError" });
    expect(asked).not.toHaveBeenCalled();
    expect(most).toBe(MOST_AT_ONCE);
    // A turn that failed is given back.
    await expect(
      inTurn(() => Promise.reject(new Error("no")), new AbortController().signal),
    ).rejects.toThrow("no");
    const next = inTurn(ask, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(20);
    await next;
  });
});

describe("what tiles show", () => {
  const tile = newTile("number", { x: 0, y: 0, w: 3, h: 2 }) as NumberTile;

  test("a number is that of its column, or the first one", () => {
    expect(readNumber([{ name: "x", a: 1, b: 2 }], tile)).toBe(1);
    expect(readNumber([{ name: "x", a: 1, b: 2n }], { ...tile, column: "b" })).toBe(2n);
    expect(readNumber([], tile)).toBeNull();
    expect(readNumber([{ a: null }], tile)).toBeNull();
    expect(() => readNumber([{ a: 1 }], { ...tile, column: "b" })).toThrow("They have: a.");
    expect(() => readNumber([{ a: "x" }], tile)).toThrow("The first row has no number.");
  });

  test("its colour is that of the first rule that holds", () => {
    const rules = [
      { operator: ">", value: 25, tone: "danger" },
      { operator: ">", value: 20, tone: "warning" },
    ] as const;
    expect([30, 22, 20].map((value) => toneOf(value, rules))).toEqual(["danger", "warning", null]);
  });

  test("bars have the name of a twin, and leave out rows without a value", () => {
    const n = { $dtId: "r1", name: "Office 1", $metadata: { $model: "m" } };
    expect(
      readBars([
        { n, value: 5 },
        { n: "x", value: null },
      ]),
    ).toEqual([{ label: "Office 1", twin: "r1", value: 5 }]);
    expect(() => readBars([{ n: "x" }])).toThrow("A row has no number");
  });
});

describe("the first dashboard of a graph", () => {
  const model = (id: string, contents: JsonObject[]) => ({
    id,
    uploadTime: "",
    decommissioned: false,
    model: { "@id": id, "@type": "Interface", "@context": "dtmi:dtdl:context;3", contents },
  });
  const property = (name: string, schema: JsonObject | string) => ({
    "@type": "Property",
    name,
    schema,
  });

  test("asks for what its models have, reads only, and nothing lies over another", () => {
    const [tank, gauge] = ["dtmi:test:Tank;1", "dtmi:test:Gauge;1"];
    const index = new ModelIndex([
      model(gauge, [property("pressure", "double")]),
      model(tank, [
        { "@type": "Component", name: "gauge", schema: gauge },
        property("volume", "double"),
        property("leakAlarm", "boolean"),
      ]),
    ]);
    const tiles = suggestTiles(index, buildCounts(new Map([[tank, 7]]), index));
    const texts = tiles.flatMap((one) => queryOf(one) ?? []);
    expect(texts.some((text) => text.includes("avg(n.gauge.pressure)"))).toBe(true);
    expect(texts.some((text) => text.includes("n.leakAlarm = true"))).toBe(true);
    expect(texts.join().includes("volume")).toBe(false);
    expect(texts.map(findKind).every((kind) => kind === "reads")).toBe(true);
    for (const one of tiles) {
      expect(tiles.filter((other) => other !== one && overlaps(one, other))).toEqual([]);
    }
  });
});
