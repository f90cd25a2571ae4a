import { expect, test } from "vitest";

import type { Change } from "../live/changes";
import { Gone } from "./gone";

const time = "2026-01-01T00:00:00Z";
const twin = (verb: "create" | "update" | "delete", id: string): Change => ({
  kind: "twin",
  verb,
  id,
  paths: [],
  time,
});

test("what is deleted is gone until it is made again, twins and relationships apart", () => {
  const gone = new Gone();
  const edge: Change = {
    kind: "relationship",
    verb: "delete",
    sourceId: "a",
    id: "r",
    targetId: "b",
    paths: [],
    time,
  };
  expect(
    gone.take([twin("update", "a"), { kind: "model", verb: "delete", id: "m", time }], 1),
  ).toBe(false);
  expect(gone.take([twin("delete", "a"), edge], 1)).toBe(true);
  expect(["a", "a\nr", "r", "m"].map((key) => gone.has(key))).toEqual([true, true, false, false]);
  expect(gone.take([twin("delete", "a")], 2)).toBe(false);
  expect(gone.take([twin("create", "a")], 3)).toBe(true);
  expect(["a", "a\nr"].map((key) => gone.has(key))).toEqual([false, true]);
});

test("rows know of what was deleted before they were asked for, not of what was since", () => {
  const gone = new Gone();
  gone.take([twin("delete", "a"), twin("delete", "b")], 10);
  gone.take([twin("delete", "b")], 20);
  gone.forget(15);
  expect(["a", "b"].map((key) => gone.has(key))).toEqual([false, true]);
});
