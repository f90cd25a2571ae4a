import { expect, test } from "vitest";

import type { Twin } from "../../api/types";
import { ModelIndex } from "../../models/index";
import { findGeoProperties } from "./properties";
import { locateTwins } from "./read";

function entry(name: string, contents: object[], more: object = {}) {
  const id = `dtmi:com:example:${name};1`;
  const model = { "@id": id, "@type": "Interface", contents, ...more };
  return { id, uploadTime: "", decommissioned: false, model: model as never };
}

const property = (name: string, schema: unknown, more: object = {}) => ({
  "@type": "Property",
  name,
  schema,
  ...more,
});
const object = (...fields: [string, unknown][]) => ({
  "@type": "Object",
  fields: fields.map(([name, schema]) => ({ name, schema })),
});

test("properties with geometries are found by what models say, others can be chosen", () => {
  const index = new ModelIndex([
    entry("Base", [property("outline", "dtmi:standard:schema:geospatial:polygon;3")]),
    entry("Part", [property("at", object(["lat", "double"], ["lon", "double"]))]),
    entry(
      "Site",
      [
        property("shape", "string", { comment: "GeoJSON of the shape" }),
        property("note", "string"),
        property("area", "double"),
        property("address", object(["street", "string"], ["position", object(["latitude", "double"], ["longitude", "double"])])), // prettier-ignore
        { "@type": "Component", name: "part", schema: "dtmi:com:example:Part;1" },
      ],
      { extends: "dtmi:com:example:Base;1" },
    ),
  ]);
  const found = findGeoProperties(index);
  expect(found.filter((one) => one.isSure).map((one) => one.path)).toEqual([
    "address.position",
    "at",
    "outline",
    "part.at",
    "shape",
  ]);
  expect(found.filter((one) => !one.isSure).map((one) => one.path)).toEqual([
    "address",
    "address.street",
    "note",
  ]);
  const [outline] = found.filter((one) => one.path === "outline");
  expect(outline?.models).toEqual(["dtmi:com:example:Base;1"]);
});

test("twins are located by their values, and what is no geometry is told", () => {
  const twin = (id: string, values: object) =>
    ({ $dtId: id, $etag: "", $metadata: { $model: "m" }, ...values }) as Twin;
  const outline = { type: "Polygon", coordinates: [[[0, 0], [1, 0], [1, 1], [0, 0]]] }; // prettier-ignore
  const { shapes, problems } = locateTwins(
    [
      twin("both", { outline, at: { lat: 1, lon: 2 } }),
      twin("none", { at: null }),
      twin("wrong", { at: { lat: 1 } }),
    ],
    ["outline", "at"],
  );
  expect([...shapes]).toEqual([["both", [outline]]]);
  expect(problems.map((one) => [one.id, one.path])).toEqual([["wrong", "at"]]);
});
