import { expect, test } from "vitest";

import { readParameters, usedParameters, withMissing } from "./parameters";

test("parameters are an object, nothing written is none", () => {
  expect(readParameters(" ")).toEqual({ value: {}, error: null });
  expect(readParameters('{"x": [1]}').value).toEqual({ x: [1] });
  expect(readParameters("{x").error).toMatch(/no JSON/);
  expect(readParameters("[1]").error).toMatch(/must be an object/);
  expect(readParameters("null").error).toMatch(/must be an object/);
});

test("the names that a text uses are found outside of strings, comments and members", () => {
  const text = "MATCH (n) WHERE n.a = $x AND n.$dtId = $`a b` AND n.c = '$y' // $z\nRETURN $x";
  expect(usedParameters(text)).toEqual(["x", "a b"]);
  expect(usedParameters("SELECT * FROM DIGITALTWINS T WHERE T.$dtId = 'a'")).toEqual([]);
});

test("the key of a map is none, its value may be one", () => {
  const text = "MATCH (l {$dtId: 'b1-l0', name : $name, $etag: $x})-[r {$relationshipId :$y}]->()";
  expect(usedParameters(text)).toEqual(["name", "x", "y"]);
  expect(usedParameters("MATCH (n $properties) RETURN n {.name, $dtId: n.$dtId, a: [$z]}")).toEqual(
    ["properties", "z"],
  );
});

test("missing ones are added beside those that are there", () => {
  expect(JSON.parse(withMissing({ a: 1 }, ["b"]))).toEqual({ a: 1, b: null });
});
