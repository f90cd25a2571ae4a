import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { ApiError } from "../api/errors";
import type { Json, JsonObject, ModelEntry } from "../api/types";
import { buildCounts } from "./counts";
import { ModelIndex } from "./index";
import { buildNodes } from "./ModelTree";
import { findSyntaxError, locate } from "./places";
import { describeSchema } from "./schemaText";
import { searchModels, withAncestors } from "./search";
import { buildRequest, readFindings } from "./upload";

function entry(id: string, more: JsonObject = {}): ModelEntry {
  return { id, uploadTime: "", decommissioned: false, model: { "@id": id, ...more } };
}

const INDEX = new ModelIndex([
  entry("dtmi:x:Space;1", { contents: [{ "@type": "Property", name: "area", schema: "double" }] }),
  entry("dtmi:x:Room;1", { extends: "dtmi:x:Space;1" }),
  entry("dtmi:x:Store;1", { extends: "dtmi:x:Space;1" }),
  entry("dtmi:x:Both;1", { extends: ["dtmi:x:Room;1", "dtmi:x:Store;1"] }),
]);

describe("the tree", () => {
  test("has an interface of two bases at two places", () => {
    const [space] = buildNodes(INDEX, INDEX.roots(), "", null);
    const places = space?.children.map((one) => [one.id, one.children[0]?.key]);
    expect(places).toEqual([
      ["dtmi:x:Room;1", "dtmi:x:Space;1 dtmi:x:Room;1 dtmi:x:Both;1"],
      ["dtmi:x:Store;1", "dtmi:x:Space;1 dtmi:x:Store;1 dtmi:x:Both;1"],
    ]);
  });

  test("shows what a search finds below what it extends", () => {
    const found = searchModels(INDEX, "rOOm") ?? new Set();
    expect([...found]).toEqual(["dtmi:x:Room;1"]);
    expect([...withAncestors(INDEX, found)]).toEqual(["dtmi:x:Room;1", "dtmi:x:Space;1"]);
    expect(searchModels(INDEX, "area")).toEqual(new Set(["dtmi:x:Space;1"]));
    expect(searchModels(INDEX, " ")).toBeNull();
  });

  test("counts a twin of an heir once, however many ways lead to it", () => {
    const counts = buildCounts(
      new Map([
        ["dtmi:x:Both;1", 5],
        ["dtmi:x:Space;1", 1],
      ]),
      INDEX,
    );
    expect(counts.own("dtmi:x:Space;1")).toBe(1);
    expect(counts.family("dtmi:x:Space;1")).toBe(6);
    expect(counts.total).toBe(6);
  });
});

test("schemas are told in few words", () => {
  const values = [
    { name: "on", enumValue: 1 },
    { name: "off", enumValue: 0 },
  ];
  const state = { "@type": "Enum", valueSchema: "integer", enumValues: values };
  expect(describeSchema(state, true)).toBe("enum: on, off");
  expect(describeSchema({ "@type": "Array", elementSchema: state })).toBe("array of enum");
  const map = { "@type": "Map", mapKey: {}, mapValue: { name: "v", schema: "double" } };
  expect(describeSchema(map)).toBe("map of double");
  const fields = [
    { name: "x", schema: "double" },
    { name: "y", schema: map },
  ];
  expect(describeSchema({ "@type": "Object", fields }, true)).toBe(
    "object { x: double, y: map of double }",
  );
});

/** The pointers to all values of a document. */
function pointersOf(value: Json, above = ""): [string, Json][] {
  const escape = (name: string) => name.replaceAll("~", "~0").replaceAll("/", "~1");
  const below = Array.isArray(value)
    ? value.flatMap((one, at) => pointersOf(one, `${above}/${at}`))
    : value !== null && typeof value === "object"
      ? Object.entries(value).flatMap(([name, one]) => pointersOf(one, `${above}/${escape(name)}`))
      : [];
  return [[above, value], ...below];
}

describe("places in a text", () => {
  test("are those of the value that a pointer names, for any document", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(0, 2), (written, indent) => {
        // NOTE: as it is read, since there is no -0 in what is written.
        const value = JSON.parse(written) as Json;
        const text = JSON.stringify(value, null, indent);
        for (const [pointer, found] of pointersOf(value)) {
          const { from, to } = locate(text, pointer);
          const compound = found !== null && typeof found === "object";
          if (compound) expect(text[from]).toBe(Array.isArray(found) ? "[" : "{");
          else expect(JSON.parse(text.slice(from, to))).toEqual(found);
        }
      }),
    );
  });

  test("of what is missing are those of what would hold it", () => {
    expect(locate('{"a": {"b": 1}}', "/a/c")).toEqual({ from: 6, to: 7 });
    expect(locate("", "/a")).toEqual({ from: 0, to: 0 });
  });

  test("of what is no JSON are told", () => {
    expect(findSyntaxError('{"a": 1}')).toBeNull();
    expect(findSyntaxError('{"a": 1,, "b": 2}')).toMatchObject({ from: 8 });
    expect(findSyntaxError('{"a": 01}')).not.toBeNull();
  });
});

describe("an upload", () => {
  const one = { name: "one.json", text: '{"@id": "dtmi:x:A;1", "schema": "doubel"}' };
  const more = { name: "more.json", text: '[{"@id": "dtmi:x:B;1"}, {"@id": "dtmi:x:C;1"}]' };

  test("is one request, and each finding of it stands in its file", () => {
    const { documents, origins, findings } = buildRequest([one, more]);
    expect(documents.map((each) => (each as JsonObject)["@id"])).toEqual([
      "dtmi:x:A;1",
      "dtmi:x:B;1",
      "dtmi:x:C;1",
    ]);
    expect(findings).toEqual([]);
    const error = new ApiError(400, "DTDLParserError", "All of it", [
      { code: "badType", message: "A: bad (document 0, at /schema)", target: "/0/schema" },
      { code: "badId", message: "C: worse", target: "/2/@id" },
      { code: "other", message: "somewhere" },
    ]);
    const read = readFindings(error, origins);
    expect(read.rest).toEqual(["somewhere"]);
    expect(read.findings.map((each) => [each.source, each.message])).toEqual([
      ["one.json", "A: bad"],
      ["more.json", "C: worse"],
    ]);
    const [first, second] = read.findings;
    expect(one.text.slice(first?.from, first?.to)).toBe('"doubel"');
    expect(more.text.slice(second?.from, second?.to)).toBe('"dtmi:x:C;1"');
  });

  test("is not sent with what is no model", () => {
    const broken = { name: "broken.json", text: '{"a": }' };
    const number = { name: "number.json", text: "[1]" };
    const { findings } = buildRequest([broken, number]);
    expect(findings.map((each) => [each.source, each.code])).toEqual([
      ["broken.json", "notJson"],
      ["number.json", "notAnObject"],
    ]);
  });

  test("that fails without findings says why", () => {
    const error = new ApiError(409, "ModelIdAlreadyExists", "It is there.");
    expect(readFindings(error, [])).toEqual({ findings: [], rest: ["It is there."] });
  });
});
