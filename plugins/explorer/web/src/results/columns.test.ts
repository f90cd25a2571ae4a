import fc from "fast-check";
import { expect, test } from "vitest";

import type { Json, JsonObject } from "../api/types";
import { ColumnScan, columnsOf, compareValues, valueAt } from "./columns";

const TWIN = { $etag: "e", name: "A", $dtId: "a", $metadata: { $model: "dtmi:x;1" } };

function names(rows: JsonObject[], spread = false): string[] {
  const scan = new ColumnScan(spread);
  scan.add(rows);
  return scan.columns().map((one) => one.name);
}

test("columns come in the order of the rows, later ones at the end", () => {
  expect(
    names([
      { b: 1, a: 2 },
      { a: 1, c: 3 },
    ]),
  ).toEqual(["b", "a", "c"]);
});

test("rows that are twins have their id in front and their metadata at the end", () => {
  expect(names([TWIN, { ...TWIN, area: 3 }])).toEqual([
    "$dtId",
    "name",
    "area",
    "$metadata",
    "$etag",
  ]);
});

test("members of twins become columns when they are spread", () => {
  const rows = [
    { n: TWIN, k: 1 },
    { n: null, k: 2 },
  ];
  expect(names(rows, true)).toEqual(["n.$dtId", "n.name", "n.$metadata", "n.$etag", "k"]);
  expect(names([{ n: null, k: 1 }], true)).toEqual(["k", "n"]);
  expect(names(rows)).toEqual(["n", "k"]);
});

test("names with dots are told from members", () => {
  const scan = new ColumnScan(true);
  scan.add([{ "a.b": 1, a: { b: 2 } }]);
  const columns = scan.columns();
  expect(new Set(columns.map((one) => one.id)).size).toBe(2);
  expect(columns.map((one) => valueAt({ "a.b": 1, a: { b: 2 } }, one.path))).toEqual([1, 2]);
});

test("of columns whose names are alike each has one of its own in the table", () => {
  const row = { r: TWIN, "r.name": "B" };
  expect(columnsOf([row], true).map((one) => one.name)).toEqual([
    "r.$dtId",
    "r.name",
    "r.$metadata",
    "r.$etag",
    "r.name (2)",
  ]);
});

test("pages are scanned one by one to the same columns as all at once", () => {
  const rows = fc.array(fc.dictionary(fc.constantFrom("a", "b", "c", "$dtId"), fc.integer()));
  fc.assert(
    fc.property(rows, rows, (first, second) => {
      const scan = new ColumnScan(false);
      scan.add(first);
      scan.add(second);
      expect(scan.columns().map((one) => one.name)).toEqual(names([...first, ...second]));
    }),
  );
});

test("of a result that grows the new rows alone are read", () => {
  const first = { a: 1 };
  expect(columnsOf([first], false).map((one) => one.name)).toEqual(["a"]);
  expect(columnsOf([first, { b: { c: 1 } }], false).map((one) => one.name)).toEqual(["a", "b"]);
  expect(columnsOf([first, { b: { c: 1 } }], true).map((one) => one.name)).toEqual(["a", "b.c"]);
  expect(columnsOf([], false)).toEqual([]);
});

test("a member that only every object has is no value", () => {
  expect(valueAt({}, ["constructor"])).toBeUndefined();
});

test("whole numbers of any size are in order with all numbers", () => {
  const values = [9223372036854775807n, 1, 9223372036854775806n, 9.3e18, -(2n ** 60n), 0.5];
  expect(values.toSorted(compareValues)).toEqual([
    -(2n ** 60n),
    0.5,
    1,
    9223372036854775806n,
    9223372036854775807n,
    9.3e18,
  ]);
  expect(compareValues(2n ** 60n, "a")).toBeLessThan(0);
  expect(compareValues(true, 2n ** 60n)).toBeGreaterThan(0);
});

test("values have one order, with none at the end", () => {
  const values: (Json | undefined)[] = [null, "b", 2, true, { x: 1 }, 10, "a", undefined];
  expect(values.toSorted(compareValues).filter((one) => one !== undefined)).toEqual(
    [2, 10, "a", "b", '{"x":1}', true, null].map((one) => (one === '{"x":1}' ? { x: 1 } : one)),
  );
  const json = fc.jsonValue() as fc.Arbitrary<Json>;
  fc.assert(
    fc.property(json, json, json, (a, b, c) => {
      expect(Math.sign(compareValues(a, b))).toBe(-Math.sign(compareValues(b, a)) || 0);
      if (compareValues(a, b) <= 0 && compareValues(b, c) <= 0) {
        expect(compareValues(a, c)).toBeLessThanOrEqual(0);
      }
    }),
  );
});
