import { expect, test } from "vitest";

import { findByName, findByShape, isToldTwice, readDirection, type Edge } from "./containment";

test("names of the ontologies of buildings say which way they lead", () => {
  const down = ["contains", "hasPart", "has_part", "isLocationOf", "includes", "hasPoint"];
  const up = ["isPartOf", "partOf", "locatedIn", "isLocatedIn", "hasLocation", "isPointOf"];
  expect(down.map(readDirection)).toEqual(down.map(() => "down"));
  expect(up.map(readDirection)).toEqual(up.map(() => "up"));
  for (const other of ["feeds", "adjacentTo", "observes", "containsNothingElse", ""]) {
    expect(readDirection(other), other).toBeNull();
  }
});

test("containment is all of the names that say it", () => {
  expect(findByName(["feeds", "contains", "locatedIn"])).toEqual([
    { name: "contains", direction: "down" },
    { name: "locatedIn", direction: "up" },
  ]);
  expect(isToldTwice(findByName(["hasPart", "isPartOf"]))).toBe(true);
  expect(isToldTwice(findByName(["contains", "locatedIn"]))).toBe(false);
});

const edges = (name: string, ...pairs: [string, string][]): Edge[] =>
  pairs.map(([source, target]) => ({ name, source, target }));

test("where no name says it, the tree of several levels is it, whichever way it leads", () => {
  const feeds = edges("feeds", ["a", "b"], ["a", "c"], ["d", "c"]);
  const ring = edges("next", ["a", "b"], ["b", "c"], ["c", "a"]);
  const flat = edges("ties", ["a", "b"], ["a", "c"], ["a", "d"], ["a", "e"], ["a", "f"]);
  const deep: [string, string][] = [
    ["s", "b1"],
    ["s", "b2"],
    ["b1", "l1"],
    ["b1", "l2"],
    ["b2", "l3"],
    ["b2", "l4"],
  ];
  const down = [{ name: "holds", direction: "down" }];
  expect(findByShape([...feeds, ...ring, ...flat, ...edges("holds", ...deep)])).toEqual(down);
  const back = deep.map(([whole, part]): [string, string] => [part, whole]);
  expect(findByShape(edges("standsIn", ...back))).toEqual([{ name: "standsIn", direction: "up" }]);
});

test("rings, pairs, and parts of several wholes are no containment", () => {
  expect(findByShape(edges("next", ["a", "b"], ["b", "c"], ["c", "a"]))).toEqual([]);
  expect(findByShape(edges("pairs", ["a", "b"], ["c", "d"]))).toEqual([]);
  expect(findByShape(edges("feeds", ["a", "x"], ["b", "x"], ["a", "y"], ["b", "y"]))).toEqual([]);
  expect(findByShape([])).toEqual([]);
});
