import { gunzipSync } from "node:zlib";
import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { Json, JsonObject, ModelEntry } from "../api/types";
import { ModelIndex, nameOf, textOf } from "./index";

function entry(id: string, more: JsonObject = {}): ModelEntry {
  const model = { "@context": "dtmi:dtdl:context;3", "@id": id, "@type": "Interface", ...more };
  return { id, uploadTime: "2026-01-01T00:00:00Z", decommissioned: false, model };
}

const property = (name: string, schema: Json = "double", more: JsonObject = {}): JsonObject => ({
  "@type": "Property",
  name,
  schema,
  ...more,
});

const SPACE = entry("dtmi:x:Space;1", {
  contents: [
    property("area", "double", { "@type": ["Property", "Area"], unit: "squareMetre" }),
    { "@type": "Relationship", name: "contains", target: "dtmi:x:Space;1" },
    { "@type": "Relationship", name: "knows", properties: [property("since", "date")] },
  ],
});
const ROOM = entry("dtmi:x:Room;1", {
  extends: "dtmi:x:Space;1",
  displayName: { en: "Room", de: "Raum" },
  contents: property("seats", "integer", { description: "How many sit here." }),
});
const OFFICE = entry("dtmi:x:Office;1", { extends: ["dtmi:x:Room;1"] });
const THING = entry("dtmi:x:Thing;1");

describe("an index of models", () => {
  const index = new ModelIndex([OFFICE, ROOM, SPACE, THING]);

  test("knows who extends an interface directly, or has it as a component", () => {
    const part = (schema: string) => ({ "@type": "Component", name: "part", schema });
    const house = entry("dtmi:x:House;1", { contents: [part("dtmi:x:Space;1")] });
    const self = entry("dtmi:x:Self;1", { contents: [part("dtmi:x:Self;1")] });
    const all = new ModelIndex([house, self, OFFICE, ROOM, SPACE]);
    expect(all.referrers("dtmi:x:Space;1")).toEqual(["dtmi:x:House;1", "dtmi:x:Room;1"]);
    expect(all.referrers("dtmi:x:Self;1")).toEqual([]);
    expect(all.referrers("dtmi:x:Office;1")).toEqual([]);
  });

  test("knows what interfaces need, however far: what they extend and have as components", () => {
    const part = (schema: string) => ({ "@type": "Component", name: "part", schema });
    const fan = entry("dtmi:x:Fan;1", { extends: "dtmi:x:Thing;1" });
    const house = entry("dtmi:x:House;1", { contents: [part("dtmi:x:Fan;1")] });
    const villa = entry("dtmi:x:Villa;1", { extends: ["dtmi:x:House;1"] });
    const all = new ModelIndex([fan, house, villa, OFFICE, ROOM, SPACE, THING]);
    const needs = (...ids: string[]) => all.withNeeds(ids).map((one) => one.id);
    expect(needs("dtmi:x:Villa;1", "dtmi:x:Gone;1")).toEqual([
      "dtmi:x:Villa;1",
      "dtmi:x:House;1",
      "dtmi:x:Fan;1",
      "dtmi:x:Thing;1",
    ]);
    expect(needs("dtmi:x:Thing;1")).toEqual(["dtmi:x:Thing;1"]);
  });

  test("is a tree by inheritance", () => {
    expect(index.roots()).toEqual(["dtmi:x:Space;1", "dtmi:x:Thing;1"]);
    expect(index.heirs("dtmi:x:Space;1")).toEqual(["dtmi:x:Room;1"]);
    expect(index.ancestors("dtmi:x:Office;1")).toEqual(["dtmi:x:Room;1", "dtmi:x:Space;1"]);
    expect(index.family("dtmi:x:Room;1")).toEqual(["dtmi:x:Room;1", "dtmi:x:Office;1"]);
    expect(index.isA("dtmi:x:Office;1", "dtmi:x:Space;1")).toBe(true);
    expect(index.isA("dtmi:x:Space;1", "dtmi:x:Office;1")).toBe(false);
  });

  test("has the inherited contents with the interface that defines them", () => {
    const contents = index.interfaces.get("dtmi:x:Office;1")?.contents ?? [];
    expect(contents.map((one) => [one.name, one.definedBy])).toEqual([
      ["seats", "dtmi:x:Room;1"],
      ["area", "dtmi:x:Space;1"],
      ["contains", "dtmi:x:Space;1"],
      ["knows", "dtmi:x:Space;1"],
    ]);
    expect(index.content("dtmi:x:Office;1", "area")).toMatchObject({
      kind: "Property",
      unit: "m²",
      semanticType: ["Area"],
    });
    expect(index.content("dtmi:x:Office;1", "seats")?.description).toBe("How many sit here.");
    expect(index.content("dtmi:x:Room;1", "knows")?.properties?.[0]?.schema).toBe("date");
  });

  test("knows which relationships may be drawn", () => {
    const names = (source: string, target: string) =>
      index.relationshipsBetween(source, target).map((one) => one.name);
    expect(names("dtmi:x:Office;1", "dtmi:x:Room;1")).toEqual(["contains", "knows"]);
    expect(names("dtmi:x:Office;1", "dtmi:x:Thing;1")).toEqual(["knows"]);
    expect(names("dtmi:x:Thing;1", "dtmi:x:Room;1")).toEqual([]);
  });

  test("gives each a colour and an icon", () => {
    const ids = [...index.interfaces.keys()];
    const colors = ids.map((id) => index.color(id));
    expect(colors.every((one) => /^#[0-9a-f]{6}$/.test(one))).toBe(true);
    expect(new Set(colors).size).toBe(ids.length);
    expect(index.color("dtmi:x:Gone;1")).toMatch(/^#[0-9a-f]{6}$/);
    expect(index.icon("dtmi:x:Office;1")).toBe("door-open");
    expect(index.icon("dtmi:x:Thing;1")).toBe("box");
  });
});

test("schemas of the interface stand in the place of their names, one that holds itself does not", () => {
  const index = new ModelIndex([
    entry("dtmi:x:A;1", {
      schemas: [
        { "@id": "dtmi:x:A:state;1", "@type": "Enum", valueSchema: "string", enumValues: [] },
        {
          "@id": "dtmi:x:A:tree;1",
          "@type": "Object",
          fields: [{ name: "child", schema: "dtmi:x:A:tree;1" }],
        },
      ],
      contents: [property("state", "dtmi:x:A:state;1"), property("tree", "dtmi:x:A:tree;1")],
    }),
  ]);
  expect(index.content("dtmi:x:A;1", "state")?.schema).toMatchObject({ "@type": "Enum" });
  expect(index.content("dtmi:x:A;1", "tree")?.schema).toMatchObject({
    fields: [{ name: "child", schema: "dtmi:x:A:tree;1" }],
  });
});

test("bases that are missing, or extend each other in a ring, do not hang it", () => {
  const index = new ModelIndex([
    entry("dtmi:x:A;1", { extends: ["dtmi:x:B;1", "dtmi:x:Gone;1"] }),
    entry("dtmi:x:B;1", { extends: "dtmi:x:A;1" }),
    entry("dtmi:x:C;1", { extends: "dtmi:x:Gone;1" }),
  ]);
  expect(index.ancestors("dtmi:x:A;1")).toEqual(["dtmi:x:B;1", "dtmi:x:Gone;1"]);
  expect(index.roots()).toEqual(["dtmi:x:C;1"]);
});

test("texts are in the reader's language where there is one", () => {
  const text = { en: "Room", de: "Raum", fr: "Pièce" };
  expect(textOf(text, ["de-AT"])).toBe("Raum");
  expect(textOf(text, ["es"])).toBe("Room");
  expect(textOf({ fr: "Pièce" }, ["es"])).toBe("Pièce");
  expect(textOf("Room")).toBe("Room");
  expect(textOf(undefined)).toBe("");
  expect(nameOf("dtmi:com:example:Room;1.2")).toBe("Room");
});

test("documents of any shape are read without a fault", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (document) => {
      new ModelIndex([entry("dtmi:x:A;1", document as JsonObject)]);
    }),
  );
  const names = ["contents", "extends", "schemas", "displayName", "@type"];
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.jsonValue(), (name, value) => {
      new ModelIndex([entry("dtmi:x:A;1", { [name]: value as Json })]);
    }),
  );
});

const REAL = `${process.env["TWINFRAME_SHARED"] ?? `${import.meta.dirname}/../../../../../../shared`}/data/rec-building-models.jsonl.gz`;

test.skipIf(!existsSync(REAL))("767 interfaces of a real ontology become one index", () => {
  const lines = gunzipSync(readFileSync(REAL)).toString().trim().split("\n");
  const documents = lines.map((line) => JSON.parse(line) as JsonObject);
  const models = documents.map((one) => entry(String(one["@id"] ?? one["id"]), one));
  const index = new ModelIndex(models);
  expect(index.interfaces.size).toBe(767);
  for (const one of index.interfaces.values()) {
    for (const base of index.ancestors(one.id)) {
      const names = new Set(one.contents.map((content) => content.name));
      for (const content of index.interfaces.get(base)?.own ?? []) {
        expect(names).toContain(content.name);
      }
    }
  }
});
