import { describe, expect, test } from "vitest";

import type { JsonObject, ModelEntry, Twin } from "../api/types";
import { ModelIndex } from "../models/index";
import {
  findChanged,
  listBulkProperties,
  planBulk,
  renderBulk,
  undoBulk,
  type BulkProperty,
} from "./plan";

function model(name: string, contents: JsonObject[]): ModelEntry {
  const id = `dtmi:x:${name};1`;
  const document = {
    "@context": "dtmi:dtdl:context;3",
    "@id": id,
    "@type": "Interface",
    displayName: name,
    contents,
  };
  return { id, uploadTime: "", decommissioned: false, model: document };
}

const MODE = {
  "@type": "Enum",
  valueSchema: "string",
  enumValues: [{ name: "auto", enumValue: "auto" }],
};
const INDEX = new ModelIndex([
  model("Air", [{ "@type": "Property", name: "mode", schema: MODE }]),
  model("Room", [
    { "@type": "Property", name: "area", schema: "double" },
    { "@type": "Property", name: "tag", schema: "string" },
    { "@type": "Component", name: "air", schema: "dtmi:x:Air;1" },
    {
      "@type": "Property",
      name: "seat",
      schema: { "@type": "Object", fields: [{ name: "row", schema: "integer" }] },
    },
  ]),
  model("Desk", [{ "@type": "Property", name: "area", schema: "integer" }]),
]);

function twin(id: string, name: string, members: object = {}): Twin {
  return {
    $dtId: id,
    $etag: `e-${id}`,
    $metadata: { $model: `dtmi:x:${name};1` },
    ...members,
  } as Twin;
}

const ALL = ["dtmi:x:Room;1", "dtmi:x:Desk;1"];

function property(path: string, of = "dtmi:x:Room;1"): BulkProperty {
  const found = listBulkProperties(INDEX, ALL).find(
    (one) => one.path === path && one.models.has(of),
  );
  if (found === undefined) throw new Error(path);
  return found;
}

describe("setting a property of many", () => {
  test("offers what the models have, one name of two schemas twice", () => {
    const listed = listBulkProperties(INDEX, ALL).map((one) => [one.path, one.schema.kind]);
    expect(listed).toEqual([
      ["air.mode", "enum"],
      ["area", "text"],
      ["area", "text"],
      ["seat.row", "text"],
      ["tag", "text"],
    ]);
  });

  test("patches what changes, and says why it leaves the others", () => {
    const twins = [
      twin("a", "Room", { area: 1 }),
      twin("b", "Room", { area: 5 }),
      twin("c", "Room"),
      twin("d", "Desk", { area: 1 }),
    ];
    const steps = planBulk(twins, property("area"), 5);
    expect(steps.map(({ reason }) => reason)).toEqual([
      null,
      "is so already",
      null,
      "has no such property",
    ]);
    expect(renderBulk(steps)).toEqual([
      {
        op: "patchTwin",
        twinId: "a",
        patch: [{ op: "replace", path: "/area", value: 5 }],
        ifMatch: "e-a",
      },
      {
        op: "patchTwin",
        twinId: "c",
        patch: [{ op: "add", path: "/area", value: 5 }],
        ifMatch: "e-c",
      },
    ]);
  });

  test("makes the object that a value is in, and takes values away", () => {
    const [bare, set] = [twin("a", "Room"), twin("b", "Room", { seat: { row: 3 } })];
    expect(planBulk([bare], property("seat.row"), 3)[0]?.patch).toEqual([
      { op: "add", path: "/seat", value: { row: 3 } },
    ]);
    expect(planBulk([bare, set], property("seat.row"), undefined).map((one) => one.patch)).toEqual([
      [],
      [{ op: "remove", path: "/seat/row" }],
    ]);
  });

  test("is taken back on the newest versions, all or none", () => {
    const before = new Map([
      ["a", 1],
      ["c", undefined],
    ]);
    const now = [twin("a", "Room", { area: 5, tag: "new" }), twin("c", "Room", { area: 5 })];
    expect(undoBulk(now, "area", 5, before)).toEqual([
      {
        op: "patchTwin",
        twinId: "a",
        patch: [{ op: "replace", path: "/area", value: 1 }],
        ifMatch: "e-a",
      },
      { op: "patchTwin", twinId: "c", patch: [{ op: "remove", path: "/area" }], ifMatch: "e-c" },
    ]);
    const others = [twin("a", "Room", { area: 6 })];
    expect(() => undoBulk(others, "area", 5, before)).toThrow(
      "Nothing was undone: area of a, c has",
    );
  });
});

test("all that changed since they were sent are found, not the first alone", () => {
  const steps = planBulk(
    ["r1", "r2", "r3", "r4"].map((id) => twin(id, "Room")),
    property("area"),
    5,
  );
  const newest = [twin("r1", "Room"), twin("r2", "Room"), twin("r4", "Room"), twin("x", "Room")];
  const changed = newest.map((one) => (one.$dtId === "r1" ? one : { ...one, $etag: "new" }));
  // r3 is gone.
  expect(findChanged(steps, changed)).toEqual(["r2", "r4"]);
});
