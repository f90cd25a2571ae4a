import { describe, expect, test } from "vitest";

import type { JsonObject, LanguageWords } from "../api/types";
import { ModelIndex } from "../models/index";
import { completeAt, type Known } from "./completion";
import { buildSchema } from "./schema";

const model = (id: string, contents: JsonObject[], base?: string) => ({
  id,
  uploadTime: "2026-01-01T00:00:00Z",
  decommissioned: false,
  model: { "@id": id, "@type": "Interface", ...(base ? { extends: base } : {}), contents },
});

const MODELS = [
  model("dtmi:x:Space;1", [
    { "@type": "Property", name: "area", schema: "double", unit: "squareMetre" },
    { "@type": "Component", name: "address", schema: "dtmi:x:Address;1" },
  ]),
  model("dtmi:x:Address;1", [
    { "@type": "Property", name: "street", schema: "string" },
    {
      "@type": "Property",
      name: "place",
      schema: {
        "@type": "Object",
        fields: [
          { name: "floor", schema: "integer" },
          {
            name: "grid",
            schema: { "@type": "Object", fields: [{ name: "x", schema: "double" }] },
          },
        ],
      },
    },
    {
      "@type": "Property",
      name: "mode",
      schema: {
        "@type": "Enum",
        valueSchema: "string",
        enumValues: [
          { name: "heat", enumValue: "heating" },
          { name: "cool", enumValue: "it's cold" },
        ],
      },
    },
  ]),
  model(
    "dtmi:x:Room;1",
    [
      { "@type": "Property", name: "seats", schema: "integer" },
      {
        "@type": "Relationship",
        name: "opensTo",
        target: "dtmi:x:Space;1",
        properties: [{ "@type": "Property", name: "width", schema: "double" }],
      },
    ],
    "dtmi:x:Space;1",
  ),
  model("dtmi:x:Pump;1", [
    { "@type": "Property", name: "flow", schema: "double" },
    {
      "@type": "Property",
      name: "stage",
      schema: {
        "@type": "Enum",
        valueSchema: "integer",
        enumValues: [{ name: "low", enumValue: 1 }],
      },
    },
    { "@type": "Relationship", name: "feeds" },
  ]),
];

const fn = (name: string, signature: string) => ({
  name,
  signature,
  documentation: "What it gives.",
  group: "Scalars",
  aliases: [],
  aggregate: false,
});
const WORDS: LanguageWords = {
  cypher: {
    keywords: ["MATCH", "RETURN"],
    writing: ["CREATE"],
    functions: [
      fn("toLower", "toLower(text) → text"),
      fn("pi", "pi() → float"),
      fn("date.truncate", "date.truncate(unit) → date"),
      fn("time.realtime", "time.realtime() → time"),
    ],
  },
  adt: { keywords: ["SELECT", "FROM"], writing: [], functions: [fn("COUNT", "COUNT()")] },
};
const KNOWN: Known = {
  schema: buildSchema(new ModelIndex(MODELS)),
  words: WORDS,
  parameters: ["floor"],
};

/** The names that are offered where `|` stands. */
function offered(marked: string): string[] {
  const at = marked.indexOf("^");
  const text = marked.replace("^", "");
  return completeAt(text, at, KNOWN)?.options.map((one) => one.label) ?? [];
}

describe("completion of Cypher", () => {
  test("offers labels behind the colon of a node, of which a part may be written", () => {
    expect(offered("MATCH (r:^")).toEqual(["Space", "Address", "Room", "Pump"]);
    expect(offered("MATCH (r:Ro^) RETURN r")).toContain("Room");
    expect(offered("MATCH (r:Room|^")).toContain("Pump");
    expect(completeAt("MATCH (r:Ro", 11, KNOWN)?.from).toBe(9);
  });

  test("offers the names of relationships in square brackets", () => {
    expect(offered("MATCH (a)-[:^")).toEqual(["opensTo", "feeds"]);
    expect(offered("MATCH (a)-[r:feeds|^]->(b)")).toEqual(["opensTo", "feeds"]);
  });

  test("offers the properties of the variable's label, inherited ones too", () => {
    expect(offered("MATCH (r:Room) WHERE r.^")).toEqual([
      "seats",
      "area",
      "address",
      "$dtId",
      "$metadata",
      "$etag",
    ]);
    expect(offered("MATCH (p:Pump)-->(r:Room) RETURN p.f^")).toContain("flow");
    expect(offered("MATCH (p:Pump)-->(r:Room) RETURN p.f^")).not.toContain("area");
  });

  test("knows a variable whose pattern comes behind the cursor", () => {
    expect(offered("MATCH (r:Room {seats: 1}) RETURN r.^ ORDER BY r.seats")).toContain("area");
  });

  test("offers the properties of every model where no label is known", () => {
    expect(offered("MATCH (n) RETURN n.^")).toEqual(expect.arrayContaining(["flow", "area"]));
  });

  test("offers the properties of a relationship", () => {
    expect(offered("MATCH (a)-[r:opensTo]->(b) WHERE r.^")).toEqual([
      "width",
      "$relationshipName",
      "$relationshipId",
      "$sourceId",
      "$targetId",
      "$etag",
    ]);
  });

  test("offers what is in the metadata, and nothing of what is not known", () => {
    expect(offered("MATCH (n) RETURN n.$metadata.^")).toEqual(["$model", "$lastUpdateTime"]);
    expect(offered("MATCH (n) WITH count(n) AS c RETURN c.^")).toEqual([]);
  });

  test("offers what a component has, and an object in it, however deep", () => {
    const members = ["street", "place", "mode", "$metadata"];
    expect(offered("MATCH (r:Room) RETURN r.address.^")).toEqual(members);
    expect(offered("MATCH (r) RETURN r.address.st^")).toEqual(members);
    expect(offered("MATCH (r:Room) RETURN r.address.place.^")).toEqual(["floor", "grid"]);
    expect(offered("MATCH (r:Room) RETURN r.address.place.grid.^")).toEqual(["x"]);
    expect(offered("MATCH (r:Room) RETURN r.area.^")).toEqual([]);
    expect(offered("MATCH (p:Pump) RETURN p.address.^")).toEqual([]);
    expect(offered("MATCH (r) WITH r.address AS a RETURN a.place.^")).toEqual([]);
  });

  test("offers the values of an enumeration where something is compared with it", () => {
    const texts = ["heating", "it's cold"];
    expect(offered("MATCH (r:Room) WHERE r.address.mode = '^")).toEqual(texts);
    expect(offered("MATCH (r:Room) WHERE r.address.mode <> 'he^'")).toEqual(texts);
    expect(offered("MATCH (r) WHERE r.address.mode IN ['heating', '^']")).toEqual(texts);
    expect(offered("MATCH (r:Address {mode: '^'})")).toEqual(texts);
    expect(offered("MATCH (r:Room) WHERE r.area = '^'")).toEqual([]);
    expect(offered("MATCH (r:Room) WHERE toLower(r.address.mode, '^")).toEqual([]);
    const text = "MATCH (r:Room) WHERE r.address.mode = 'he'";
    expect(completeAt(text, text.length - 1, KNOWN)?.from).toBe(text.indexOf("'") + 1);
    expect(offered("MATCH (r:Room) WHERE r.address.mode = ^").slice(0, 2)).toEqual([
      "'heating'",
      "'it\\'s cold'",
    ]);
    expect(offered("MATCH (p:Pump) WHERE p.stage = ^")[0]).toBe("1");
    expect(offered("MATCH (p:Pump) WHERE p.stage = '^")).toEqual([]);
  });

  test("offers the properties of a pattern in its braces", () => {
    expect(offered("MATCH (r:Room {^")).toEqual(["seats", "area", "address"]);
    expect(offered("MATCH (r:Room {seats: 1, ar^})")).toEqual(["seats", "area", "address"]);
    expect(offered("MATCH (:Pump {^})")).toEqual(["flow", "stage"]);
    expect(offered("MATCH (r {^})")).toEqual(expect.arrayContaining(["flow", "seats"]));
    expect(offered("MATCH (a)-[:opensTo {^}]->(b)")).toEqual(["width"]);
    expect(offered("RETURN {^")).toContain("RETURN");
    expect(offered("MATCH (r:Room {seats: ^")).not.toContain("area");
  });

  test("offers keywords, functions and variables that begin with what is written", () => {
    expect(offered("MATCH (r:Room) R^")).toEqual(["r", "RETURN", "time.realtime"]);
    expect(offered("MAT^")).toEqual(["MATCH"]);
    expect(offered("MATCH (r:Room) ^")).toEqual(expect.arrayContaining(["r", "toLower"]));
    expect(offered("RETURN date.^")).toEqual(["truncate"]);
  });

  test("offers parameters", () => {
    expect(offered("MATCH (n) WHERE n.level = $^")).toEqual(["$floor"]);
    expect(offered("MATCH (n) RETURN n.$^")).toContain("$dtId");
    expect(offered("MATCH (n) WHERE n.level = $f^")).toEqual(["$floor"]);
  });

  test("offers nothing in strings, comments and numbers", () => {
    expect(offered("RETURN 'ma^")).toEqual([]);
    expect(offered("// ma^")).toEqual([]);
    expect(offered("MATCH (n) RETURN n LIMIT 10^")).toEqual([]);
  });

  test("takes the braces of a map for no label", () => {
    expect(offered("MATCH (r:Room {seats: ^")).not.toContain("Pump");
  });
});

describe("completion of the vendor's language", () => {
  test("offers models in IS_OF_MODEL, which tell the alias's properties", () => {
    expect(offered("SELECT * FROM DIGITALTWINS T WHERE IS_OF_MODEL(T, '^")).toContain(
      "dtmi:x:Room;1",
    );
    const text = "SELECT * FROM DIGITALTWINS T WHERE IS_OF_MODEL(T, 'dtmi:x:Pump;1') AND T.^";
    expect(offered(text)).toContain("flow");
    expect(offered(text)).not.toContain("seats");
  });

  test("replaces what stands within the quotes only", () => {
    const text = "SELECT * FROM DIGITALTWINS T WHERE IS_OF_MODEL(T, 'dt";
    expect(completeAt(text, text.length, KNOWN)?.from).toBe(text.indexOf("'") + 1);
  });

  test("knows the aliases of joins", () => {
    const text = "SELECT A, R FROM DIGITALTWINS A JOIN B RELATED A.opensTo R WHERE R.^";
    expect(offered(text)).toContain("width");
  });

  test("offers the values of an enumeration, with an alias and without", () => {
    const texts = ["heating", "it's cold"];
    expect(offered("SELECT * FROM DIGITALTWINS T WHERE T.address.mode = '^")).toEqual(texts);
    expect(offered("SELECT * FROM DIGITALTWINS WHERE address.mode != '^")).toEqual(texts);
    expect(offered("SELECT * FROM DIGITALTWINS WHERE mode IN ['^")).toEqual(texts);
    expect(offered("SELECT * FROM DIGITALTWINS T WHERE T.^")).toContain("mode");
  });

  test("offers properties without an alias over one collection", () => {
    expect(offered("SELECT * FROM DIGITALTWINS WHERE ^")).toContain("area");
  });
});

test("names that are none by themselves are quoted as the language wants it", () => {
  const schema = buildSchema(
    new ModelIndex([model("dtmi:x:A;1", [{ "@type": "Property", name: "a b", schema: "string" }])]),
  );
  const apply = (text: string) =>
    completeAt(text, text.length, { ...KNOWN, schema })?.options[0]?.apply;
  expect(apply("MATCH (n:A) RETURN n.")).toBe("`a b`");
  expect(apply("SELECT * FROM DIGITALTWINS T WHERE T.")).toBe("[[a b]]");
});
