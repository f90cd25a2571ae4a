import { expect, test } from "vitest";

import type { Twin } from "../api/types";
import { LIT } from "../live/store";
import { findTwins, litSince, takeNewest } from "./newest";

function twin(id: string, etag: string, area: number): Twin {
  return { $dtId: id, $etag: etag, $metadata: { $model: "dtmi:x:A;1" }, area };
}

const ROWS = [
  { a: twin("a", "1", 1), n: 5 },
  { list: [{ inner: twin("b", "1", 1) }, twin("a", "1", 1)] },
  twin("c", "1", 1),
];

test("twins are found in rows wherever they are, each row once", () => {
  expect([...findTwins(ROWS)]).toEqual([
    ["a", [0, 1]],
    ["b", [1]],
    ["c", [2]],
  ]);
});

test("rows take the newest state of a twin, and stay the very same where there is none", () => {
  expect(takeNewest(ROWS, [twin("a", "1", 1), twin("z", "9", 9)])).toBe(ROWS);
  const after = takeNewest(ROWS, [twin("a", "2", 7), twin("c", "1", 1)]);
  expect(after[0]).toEqual({ a: twin("a", "2", 7), n: 5 });
  expect(after[1]).toEqual({ list: [{ inner: twin("b", "1", 1) }, twin("a", "2", 7)] });
  expect(after[2]).toBe(ROWS[2]);
  expect(ROWS[0]).toEqual({ a: twin("a", "1", 1), n: 5 });
});

test("a cell is lit for a while where its value changed, and nowhere else", () => {
  const [row] = takeNewest(ROWS, [twin("a", "2", 7)], 1000);
  if (row === undefined) throw new Error("no row");
  expect(litSince(row, ["a", "area"], 1000 + LIT)).toBe(1000);
  expect(litSince(row, ["a", "area"], 1001 + LIT)).toBeNull();
  expect(litSince(row, ["a", "$dtId"], 1000)).toBeNull();
  expect(litSince(row, ["n"], 1000)).toBeNull();
  const [first] = ROWS;
  if (first === undefined) throw new Error("no row");
  expect(litSince(first, ["a"], 1000)).toBeNull();
});
