import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { ApiError } from "../api/errors";
import type { Json, JsonObject, ModelEntry } from "../api/types";
import { buildCounts } from "./counts";
import { readChosen } from "./dropped";
import { ModelIndex } from "./index";
import { findSyntaxError, locate } from "./places";
import { describeSchema } from "./schemaText";
import { tellReferrers } from "./referrers";
import { searchModels, withAncestors } from "./search";
import { aboveOf, buildPlaces, findPlace, openAtFirst, type Place } from "./tree";
import { addSources, buildRequest, chooseSource, readFindings, tellWrong } from "./upload";

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
    const [space] = buildPlaces(INDEX, openAtFirst(INDEX, null, null), null);
    const places = space?.children.map((one) => [one.id, one.children[0]?.key]);
    expect(places).toEqual([
      ["dtmi:x:Room;1", "dtmi:x:Space;1 dtmi:x:Room;1 dtmi:x:Both;1"],
      ["dtmi:x:Store;1", "dtmi:x:Space;1 dtmi:x:Store;1 dtmi:x:Both;1"],
    ]);
  });

  test("has no more built below what is closed than tells that there is something", () => {
    const below = (name: string) => {
      const key = `dtmi:x:Space;1 dtmi:x:${name};1`;
      const both = { key: `${key} dtmi:x:Both;1`, id: "dtmi:x:Both;1", children: [] };
      return { key, id: `dtmi:x:${name};1`, children: [both] };
    };
    const [open] = buildPlaces(INDEX, new Set(["dtmi:x:Space;1"]), null);
    expect(open?.children).toEqual([below("Room"), below("Store")]);
    const [closed] = buildPlaces(INDEX, new Set(), null);
    expect(closed?.children).toEqual([{ ...below("Room"), children: [] }]);
    const [none] = buildPlaces(INDEX, new Set(), new Set(["dtmi:x:Space;1"]));
    expect(none?.children).toEqual([]);
  });

  test("of few models that share all their bases is opened as far as one can look at it", () => {
    // NOTE: as places these are 4 + 16 + … + 4^16; whoever builds them all does not end.
    const name = (level: number, at: number) => `dtmi:x:L${level}x${at};1`;
    const bases = (level: number) => [0, 1, 2, 3].map((at) => name(level, at));
    const index = new ModelIndex(
      [...Array(16).keys()].flatMap((level) =>
        bases(level).map((id) => entry(id, level === 0 ? {} : { extends: bases(level - 1) })),
      ),
    );
    expect(index.ancestors(name(15, 3))).toHaveLength(60);
    const count = (places: readonly Place[]): number =>
      places.reduce((sum, one) => sum + 1 + count(one.children), 0);
    const first = openAtFirst(index, null, null);
    expect(count(buildPlaces(index, first, null))).toBe(4 + 16 + 16);

    const found = searchModels(index, "dtmi") ?? new Set();
    expect(found.size).toBe(64);
    const sought = buildPlaces(index, openAtFirst(index, found, found), found);
    expect(count(sought)).toBeLessThan(found.size * 16 * 4);
    const keys = (places: readonly Place[]): string[] =>
      places.flatMap((one) => [one.key, ...keys(one.children)]);
    const built = new Set(keys(sought));
    for (const id of found) expect(built).toContain(findPlace(index, id));

    const deep = findPlace(index, name(15, 2));
    expect(deep?.split(" ")).toHaveLength(16);
    expect(aboveOf(deep)).toHaveLength(15);
  });

  test("has no place for what extends itself in a ring", () => {
    const ring = new ModelIndex([
      entry("dtmi:x:A;1", { extends: "dtmi:x:B;1" }),
      entry("dtmi:x:B;1", { extends: "dtmi:x:A;1" }),
    ]);
    expect(findPlace(ring, "dtmi:x:A;1")).toBeNull();
    expect(findPlace(ring, "dtmi:x:Gone;1")).toBeNull();
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

  test("says which of the files are left out by their names", async () => {
    const files = ["b.json", "notes.txt", "a.DTDL", "an.xml"].map((name) => new File(["{}"], name));
    const { sources, left } = await readChosen(files);
    expect(sources.map((each) => each.name)).toEqual(["a.DTDL", "b.json"]);
    expect(left).toEqual(["an.xml", "notes.txt"]);
  });

  test("takes more files, where one is put in the place of that of its name", () => {
    const again = { ...one, text: "{}" };
    expect(addSources([one, more], [again])).toEqual([more, again]);
  });

  test("opens the first file that is wrong, unless the one that is open is", () => {
    const files = ["a", "b", "c"].map((name) => ({ name, text: "" }));
    const finding = (source: string) => ({ source, code: "", message: "", from: 0, to: 0 });
    expect(chooseSource(files, [])).toBe("a");
    expect(chooseSource(files, [], "b")).toBe("b");
    expect(chooseSource(files, [finding("c"), finding("b")])).toBe("b");
    expect(chooseSource(files, [finding("c"), finding("b")], "a")).toBe("b");
    expect(chooseSource(files, [finding("b"), finding("c")], "c")).toBe("c");
    expect(chooseSource([], [])).toBe("");
  });

  test("that got no answer is not said to have stored nothing", () => {
    expect(tellWrong(2, new ApiError(400, "", "x"))).toBe(
      "2 things are wrong. Nothing was stored.",
    );
    expect(tellWrong(1, new ApiError(0, "", "x"))).toContain("not known whether");
  });

  test("that fails without findings says why", () => {
    const error = new ApiError(409, "ModelIdAlreadyExists", "It is there.");
    expect(readFindings(error, [])).toEqual({ findings: [], rest: ["It is there."] });
  });
});

test("what refers to a model is told before it is to be deleted", () => {
  const names = ["A", "B", "C", "D", "E", "F", "G"];
  expect(tellReferrers([])).toBeNull();
  expect(tellReferrers(["A"])).toBe("A refers to it and has to be deleted first.");
  expect(tellReferrers(names.slice(0, 6))).toMatch(/^A, B, C, D, E and F refer to it/);
  expect(tellReferrers(names)).toMatch(/^A, B, C, D, E and 2 more refer to it/);
});
