import { expect, test } from "vitest";

import { findIdNames, namesTwin } from "./ids";

test("members and columns that are ids of twins are known by their names", () => {
  for (const name of ["$dtId", "n.$dtId", "r.$sourceId", "a.b.$targetId", "n.`$dtId`"]) {
    expect(namesTwin(name)).toBe(true);
  }
  for (const name of ["id", "n.$dtIds", "n.$metadata", "my$dtId", "r.$relationshipId"]) {
    expect(namesTwin(name)).toBe(false);
  }
});

test("names that a query gives to ids are found, in either language", () => {
  const cases: [string, string[]][] = [
    ["MATCH (n) RETURN n.$dtId AS id, n.name AS name", ["id"]],
    ["match (n) return distinct n.`$dtId` as `the id`", ["the id"]],
    ["MATCH (a)-[r]->() WITH r.$sourceId AS s, r.$targetId AS t RETURN s, t", ["s", "t"]],
    ["SELECT TOP(5) T.$dtId AS id, T.area AS area FROM DIGITALTWINS T", ["id"]],
    ["MATCH (n) RETURN n.$dtId AS id UNION MATCH (m) RETURN m.$dtId AS id", ["id"]],
  ];
  for (const [query, names] of cases) expect([...findIdNames(query)]).toEqual(names);
});

test("a name of anything else is none", () => {
  for (const query of [
    "MATCH (a), (b) RETURN a.$dtId + b.$dtId AS both",
    "MATCH (n) RETURN collect(n.$dtId) AS ids",
    "MATCH (n) RETURN n.$dtId AS id UNION MATCH (m) RETURN m.name AS id",
    "RETURN 'n.$dtId AS id' AS text // n.$dtId AS id",
    "MATCH (n) RETURN n.$dtId AS",
    "",
  ]) {
    expect([...findIdNames(query)]).toEqual([]);
  }
});
