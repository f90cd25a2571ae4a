import { expect, test } from "vitest";

import { columnsOf } from "./columns";
import { sortRows } from "./sorting";

const ROWS = [
  { a: 2, b: "x" },
  { a: null, b: "y" },
  { a: 10, b: "x" },
  { b: "z" },
  { a: 2, b: "w" },
];
const COLUMNS = columnsOf(ROWS, false);

test("rows are sorted by values, with none at the end in either direction", () => {
  const by = (desc: boolean) => sortRows(ROWS, COLUMNS, [{ id: "a", desc }]).map((row) => row["a"]);
  expect(by(false)).toEqual([2, 2, 10, null, undefined]);
  expect(by(true)).toEqual([10, 2, 2, null, undefined]);
});

test("of rows that are alike the next column tells, else they stay as they came", () => {
  const sorted = sortRows(ROWS, COLUMNS, [
    { id: "b", desc: true },
    { id: "a", desc: false },
  ]);
  expect(sorted.map(({ b }) => b)).toEqual(["z", "y", "x", "x", "w"]);
  expect(sorted.slice(2, 4)).toEqual([ROWS[0], ROWS[2]]);
  expect(sortRows(ROWS, COLUMNS, [{ id: "no such", desc: true }])).toBe(ROWS);
});
