import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";

import { ApiError } from "../api/errors";
import type { GraphClient } from "../api/graph";
import { parseJson } from "../api/json";
import type { Json, JsonObject, ModelEntry } from "../api/types";
import { ModelIndex } from "../models/index";
import { buildDeletion, readAttached } from "./deletion";
import { useDrafts } from "./drafts";
import { buildComponents, carryOver, listTelemetry } from "./components";
import { fits, firstValue, readSchema, writeText } from "./schema";
import { readFindings } from "./useSave";

function parse(schema: Json, text: string): Json | undefined {
  const field = readSchema(schema);
  if (field.kind !== "text") throw new Error(`${JSON.stringify(schema)} is no text`);
  return field.form.parse(text);
}

describe("a field", () => {
  test.each([
    ["integer", "12", 12],
    ["integer", " -2147483648 ", -2147483648],
    ["integer", "2147483648", undefined],
    ["integer", "1.5", undefined],
    ["integer", "", undefined],
    ["long", "9007199254740991", 9007199254740991],
    ["long", "+9007199254740993", 9007199254740993n],
    ["long", " -9223372036854775808 ", -9223372036854775808n],
    ["long", "9223372036854775808", undefined],
    ["unsignedLong", "9223372036854775807", 9223372036854775807n],
    ["unsignedByte", "-1", undefined],
    ["double", "1e3", 1000],
    ["double", ".5", 0.5],
    ["double", "1e999", undefined],
    ["double", "0x10", undefined],
    ["double", "NaN", undefined],
    ["float", "1e39", undefined],
    ["decimal", "-3.14", "-3.14"],
    ["date", "2024-02-29", "2024-02-29"],
    ["date", "2026-02-29", undefined],
    ["dateTime", "2026-01-31T12:00:00.5+02:00", "2026-01-31T12:00:00.5+02:00"],
    ["dateTime", "2026-01-31T12:00:00", undefined],
    ["dateTime", "2026-02-31T12:00:00Z", undefined],
    ["time", "23:59:59Z", "23:59:59Z"],
    ["time", "24:00:00Z", undefined],
    ["duration", "P1DT12H", "P1DT12H"],
    ["duration", "P2W", "P2W"],
    ["duration", "P", undefined],
    ["duration", "PT", undefined],
    ["uuid", "00a185be-a3a4-465a-9dac-cfa24bc7b923", "00a185be-a3a4-465a-9dac-cfa24bc7b923"],
    ["bytes", "aGVsbG8=", "aGVsbG8="],
    ["bytes", "aGVsbG8", undefined],
    ["string", " as it is ", " as it is "],
    ["dtmi:dtdl:instance:Schema:integer;2", "7", 7],
  ])("of %s reads %j", (schema, text, value) => {
    expect(parse(schema, text)).toBe(value);
  });

  test.each(["date", "dateTime", "time", "duration"])("of %s shows a value of it", (schema) => {
    const field = readSchema(schema);
    if (field.kind !== "text" || field.form.example === undefined) throw new Error("no example");
    expect(field.form.parse(field.form.example)).toBe(field.form.example);
    expect(field.form.hint).toContain(field.form.example);
  });

  test("reads the numbers that it writes", () => {
    const doubles = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(doubles, (value) => {
        // JSON has no -0.
        expect(parse("double", writeText(value))).toBe(JSON.parse(JSON.stringify(value)));
      }),
    );
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const read = parseJson(String(value));
        expect(parse("long", writeText(read))).toBe(read);
        expect(fits(readSchema("long"), read)).toBe(true);
      }),
    );
  });

  test("of a complex schema has fields within, of an unknown one is JSON", () => {
    const nested = {
      "@type": "Map",
      mapKey: { name: "k", schema: "string" },
      mapValue: {
        name: "v",
        schema: { "@type": "Array", elementSchema: { "@type": "Object", fields: [] } },
      },
    };
    expect(readSchema(nested)).toEqual({
      kind: "map",
      value: { kind: "array", element: { kind: "object", fields: [] } },
    });
    expect(readSchema("point")).toEqual({ kind: "json" });
    expect(readSchema(undefined)).toEqual({ kind: "json" });
  });

  test("shows a value that is not of its schema as JSON, and begins with one that is", () => {
    const choice = {
      "@type": "Enum",
      valueSchema: "integer",
      enumValues: [{ name: "on", enumValue: 1 }],
    };
    expect(fits(readSchema(choice), 1)).toBe(true);
    expect(fits(readSchema(choice), 2)).toBe(false);
    expect(fits(readSchema("double"), "5")).toBe(false);
    expect(fits(readSchema("string"), 5)).toBe(false);
    const array = { "@type": "Array", elementSchema: "string" };
    for (const schema of ["boolean", "integer", "double", "string", choice, array]) {
      const field = readSchema(schema);
      const first = firstValue(field);
      expect(first !== undefined && fits(field, first)).toBe(true);
    }
  });
});

describe("a draft", () => {
  const key = "own\na";
  const drafts = () => useDrafts.getState();
  const stored = (etag: string, more: JsonObject): JsonObject => ({
    $dtId: "a",
    $etag: etag,
    ...more,
  });
  beforeEach(() => useDrafts.setState({ drafts: new Map() }));

  test("is forgotten once it changes nothing", () => {
    drafts().edit(key, stored("1", { x: 1 }), { x: 2 });
    expect(drafts().drafts.get(key)?.draft).toEqual({ x: 2 });
    drafts().edit(key, stored("1", { x: 1 }), { x: 1 });
    expect(drafts().drafts.size).toBe(0);
  });

  test("is put on the newer version, whose etag it takes", () => {
    drafts().edit(key, stored("1", { x: 1, y: 1 }), { x: 2, y: 1 });
    drafts().take(key, stored("2", { x: 1, y: 5 }));
    expect(drafts().drafts.get(key)).toMatchObject({
      base: { $etag: "2" },
      draft: { x: 2, y: 5 },
      conflicts: [],
      news: ["/y"],
    });
  });

  test("is done when somebody else stored the same", () => {
    drafts().edit(key, stored("1", { x: 1 }), { x: 2 });
    drafts().take(key, stored("2", { x: 2 }));
    expect(drafts().drafts.size).toBe(0);
  });

  test("keeps a conflict until it is chosen, with the newest of theirs", () => {
    drafts().edit(key, stored("1", { x: 1, y: 1 }), { x: 2, y: 1 });
    drafts().take(key, stored("2", { x: 3, y: 1 }));
    drafts().take(key, stored("3", { x: 4, y: 1 }));
    expect(drafts().drafts.get(key)?.conflicts).toMatchObject([{ path: "/x", theirs: 4 }]);
    drafts().take(key, stored("4", { x: 4, y: 2 }));
    expect(drafts().drafts.get(key)?.conflicts).toMatchObject([{ path: "/x", theirs: 4 }]);
    drafts().settle(key, new Set());
    expect(drafts().drafts.get(key)).toMatchObject({ draft: { x: 2, y: 2 }, conflicts: [] });
    drafts().take(key, stored("5", { x: 9, y: 2 }));
    drafts().settle(key, new Set(["/x"]));
    expect(drafts().drafts.size).toBe(0);
  });
});

describe("a draft that is sent", () => {
  const key = "own\na";
  const drafts = () => useDrafts.getState();
  const draft = () => drafts().drafts.get(key);
  const first = { $dtId: "a", $etag: "1", x: 1, y: 1 };
  beforeEach(() => {
    useDrafts.setState({ drafts: new Map() });
    drafts().edit(key, first, { x: 2, y: 1 });
    drafts().send(key);
  });

  test("is forgotten once it is stored", () => {
    drafts().saved(key, { ...first, $etag: "2", x: 2 });
    expect(drafts().drafts.size).toBe(0);
  });

  test("keeps what is edited meanwhile, on the version that is stored then", () => {
    drafts().edit(key, first, { x: 22, y: 3 });
    drafts().take(key, { ...first, $etag: "2", x: 2 });
    drafts().saved(key, { ...first, $etag: "2", x: 2 });
    expect(draft()).toEqual({
      base: { $dtId: "a", $etag: "2", x: 2, y: 1 },
      draft: { x: 22, y: 3 },
      conflicts: [],
      news: [],
      sent: null,
      texts: new Map(),
    });
  });

  test("keeps what is edited back meanwhile, as the other is stored now", () => {
    drafts().edit(key, first, { x: 1, y: 1 });
    drafts().saved(key, { ...first, $etag: "2", x: 2 });
    expect(draft()).toMatchObject({ base: { x: 2 }, draft: { x: 1, y: 1 } });
  });

  test("tells of a conflict with who stored after it", () => {
    drafts().edit(key, first, { x: 22, y: 1 });
    drafts().saved(key, { ...first, $etag: "3", x: 7 });
    expect(draft()?.conflicts).toMatchObject([{ path: "/x", base: 2, mine: 22, theirs: 7 }]);
  });

  test("keeps what is edited meanwhile also where what is stored cannot be read", () => {
    drafts().edit(key, first, { x: 2, z: 5 });
    drafts().saved(key, null);
    expect(draft()).toMatchObject({ base: { x: 2, y: 1 }, draft: { x: 2, z: 5 } });
    drafts().take(key, { ...first, $etag: "2", x: 2 });
    expect(draft()).toMatchObject({ base: { $etag: "2" }, draft: { x: 2, z: 5 }, conflicts: [] });
    expect(draft()?.draft).not.toHaveProperty("y");
  });

  test("stands on newer versions again once it is refused", () => {
    drafts().edit(key, first, { x: 2, y: 9 });
    drafts().refused(key);
    drafts().take(key, { ...first, $etag: "2", y: 5 });
    expect(draft()).toMatchObject({ draft: { x: 2, y: 9 }, conflicts: [{ path: "/y" }] });
  });
});

describe("a text that is no value yet", () => {
  const key = "own\na";
  const drafts = () => useDrafts.getState();
  const draft = () => drafts().drafts.get(key);
  const first = { $dtId: "a", $etag: "1", x: 1, y: 1 };
  const second = { $dtId: "a", $etag: "2", x: 1, y: 5 };
  beforeEach(() => useDrafts.setState({ drafts: new Map() }));

  test("is kept by its place until it is taken back", () => {
    drafts().write(key, first, "/x", "1,");
    drafts().write(key, first, "/x", "1,5");
    drafts().write(key, first, "", '{"x":');
    drafts().take(key, second);
    expect(draft()?.texts.get("/x")?.text).toBe("1,5");
    expect(draft()?.draft).toEqual({ x: 1, y: 5 });
    drafts().forget(key, "/x");
    expect([...(draft()?.texts.keys() ?? [])]).toEqual([""]);
    drafts().write(key, first, "", null);
    expect(drafts().drafts.size).toBe(0);
  });

  test("is, once complete, an edit of what it was begun on", () => {
    drafts().write(key, first, "", '{"x":');
    drafts().take(key, second);
    drafts().edit(key, second, { x: 2, y: 1 }, "");
    expect(draft()).toMatchObject({ draft: { x: 2, y: 5 }, conflicts: [], texts: new Map() });
  });

  test("conflicts, once complete, with who changed the same place meanwhile", () => {
    drafts().write(key, first, "/y", "2,");
    drafts().take(key, second);
    drafts().edit(key, second, { x: 1, y: 2 }, "/y");
    expect(draft()?.draft).toEqual({ x: 1, y: 2 });
    expect(draft()?.conflicts).toMatchObject([{ path: "/y", base: 1, mine: 2, theirs: 5 }]);
  });

  test("leaves what was edited elsewhere, also where that was saved meanwhile", () => {
    drafts().edit(key, first, { x: 2, y: 1 });
    drafts().send(key);
    drafts().write(key, first, "", "{");
    drafts().edit(key, first, { x: 2, y: 3 });
    drafts().saved(key, { ...first, $etag: "2", x: 2 });
    drafts().edit(key, first, { x: 4, y: 1 }, "");
    expect(draft()).toMatchObject({ draft: { x: 4, y: 3 }, conflicts: [] });
  });
});

describe("by the models", () => {
  const entry = (id: string, contents: Json[], more: JsonObject = {}): ModelEntry => ({
    id,
    uploadTime: "",
    decommissioned: false,
    model: { "@id": id, contents, ...more },
  });
  const index = new ModelIndex([
    entry("dtmi:x:Inner;1", [{ "@type": "Telemetry", name: "t", schema: "double" }]),
    entry("dtmi:x:Part;1", [{ "@type": "Component", name: "inner", schema: "dtmi:x:Inner;1" }]),
    entry("dtmi:x:Base;1", [{ "@type": "Component", name: "part", schema: "dtmi:x:Part;1" }]),
    entry("dtmi:x:Thing;1", [{ "@type": "Telemetry", name: "power", schema: "double" }], {
      extends: "dtmi:x:Base;1",
    }),
  ]);

  test("a new twin has each component, inherited and nested ones too", () => {
    expect(buildComponents("dtmi:x:Thing;1", index)).toEqual({
      part: { $metadata: {}, inner: { $metadata: {} } },
    });
  });

  test("what is written goes with one to another model, as far as that takes it", () => {
    const named = { "@type": "Property", name: "name", schema: "string" };
    const level = (schema: string) => ({ "@type": "Property", name: "level", schema });
    const component = (schema: string) => ({ "@type": "Component", name: "part", schema });
    const models = new ModelIndex([
      entry("dtmi:x:One;1", [named, level("string"), component("dtmi:x:Base;1")]),
      entry("dtmi:x:Two;1", [named, level("integer"), component("dtmi:x:Other;1")]),
      entry("dtmi:x:Base;1", [named, level("double")]),
      entry("dtmi:x:Other;1", [named]),
    ]);
    const written = {
      name: "a",
      level: "ground",
      part: { $metadata: {}, name: "b", level: 1.5 },
      constructor: "c",
    };
    const contents = models.interfaces.get("dtmi:x:Two;1")?.contents ?? [];
    expect(carryOver(written, contents, models)).toEqual({
      name: "a",
      part: { $metadata: {}, name: "b" },
    });
    expect(carryOver({}, contents, models)).toEqual({});
  });

  test("telemetry is listed by component", () => {
    expect([...listTelemetry("dtmi:x:Thing;1", index).keys()]).toEqual([""]);
    expect([...listTelemetry("dtmi:x:Part;1", index).keys()]).toEqual(["inner"]);
  });
});

test("a deletion takes the relationships first, each as it was read", () => {
  const one = { sourceId: "b", id: "r", name: "has", other: "b" };
  const attached = [
    { ...one, etag: "e2" },
    { ...one, id: "s", etag: "e3" },
  ];
  const operations = [
    { op: "deleteRelationship", sourceId: "b", relationshipId: "r", ifMatch: "e2" },
    { op: "deleteRelationship", sourceId: "b", relationshipId: "s", ifMatch: "e3" },
    { op: "deleteTwin", twinId: "a", ifMatch: "e1" },
  ];
  expect(buildDeletion("a", "e1", attached)).toEqual([operations]);
  expect(buildDeletion("a", "e1", attached, 3)).toEqual([operations]);
  expect(buildDeletion("a", "e1", attached, 2)).toEqual([
    operations.slice(0, 2),
    operations.slice(2),
  ]);
});

test("what leads to a twin has its etag, by a query or one by one, unless it is gone", async () => {
  const incoming = (id: string, source = "b") => ({
    $relationshipId: id,
    $relationshipName: "has",
    $sourceId: source,
    $relationshipLink: "",
  });
  const row = (id: string) => ({
    r: { ...incoming(id), $targetId: "a", $etag: `q-${id}` },
  });
  const answers = {
    listRelationships: () => Promise.resolve([]),
    listIncoming: () =>
      Promise.resolve(["1", "2", "3", "4"].map((id) => incoming(id)).concat(incoming("5", "a"))),
    query: (_: string, { continuationToken }: { continuationToken?: string }) =>
      Promise.resolve(
        continuationToken === undefined
          ? { value: [row("1")], continuationToken: "more" }
          : { value: [row("2")], continuationToken: null },
      ),
    readRelationship: (_: string, id: string) =>
      id === "3"
        ? Promise.reject(new ApiError(404, "RelationshipNotFound", "gone"))
        : Promise.resolve({ $etag: `r-${id}` }),
  };
  const etagsOf = async (mayQuery: boolean) => {
    const found = await readAttached(answers as unknown as GraphClient, "a", mayQuery);
    return found.incoming.map((one) => one.etag);
  };
  expect(await etagsOf(true)).toEqual(["q-1", "q-2", "r-4"]);
  expect(await etagsOf(false)).toEqual(["r-1", "r-2", "r-4"]);
});

test("findings of an error are read where they name places", () => {
  const details = [{ code: "ValidationFailed", message: "no", target: "/a" }, { message: "else" }];
  expect(readFindings(new ApiError(400, "ValidationFailed", "x", details))).toEqual([
    { target: "/a", message: "no" },
  ]);
  expect(readFindings(new Error("x"))).toEqual([]);
});
