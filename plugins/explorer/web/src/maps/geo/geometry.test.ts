import { describe, expect, test } from "vitest";

import type { Json } from "../../api/types";
import { boxOf, buildGraticule, pickHighest, readGeometries } from "./geometry";

const POINT = { type: "Point", coordinates: [9.98, 53.54] };

function problemOf(value: Json): string {
  const read = readGeometries(value);
  return "problem" in read ? read.problem : "";
}

describe("the geometries of a value", () => {
  test("are those of GeoJSON, as an object or as a text", () => {
    expect(readGeometries(POINT)).toEqual({ geometries: [POINT] });
    expect(readGeometries(JSON.stringify(POINT))).toEqual({ geometries: [POINT] });
  });

  test("are those of features and collections, however nested", () => {
    const line = { type: "LineString", coordinates: [[0, 0], [1, 1]] }; // prettier-ignore
    const feature = {
      type: "Feature",
      geometry: { type: "GeometryCollection", geometries: [line] },
    };
    const nothing = { type: "Feature", geometry: null };
    const value = { type: "FeatureCollection", features: [feature, nothing] };
    expect(readGeometries(value)).toEqual({ geometries: [line] });
  });

  test("are a point of latitude and longitude, by the names in use", () => {
    const point = { type: "Point", coordinates: [9.98, 53.54] };
    for (const value of [
      { latitude: 53.54, longitude: 9.98, altitude: 3 },
      { lat: 53.54, lng: 9.98 },
    ]) {
      expect(readGeometries(value)).toEqual({ geometries: [point] });
    }
  });

  test("are none where something is wrong, which is said", () => {
    expect(problemOf("POINT(1 2)")).toContain("not JSON");
    expect(problemOf(3)).toContain("not a JSON object");
    expect(problemOf({ type: "Circle", coordinates: [0, 0] })).toContain("MultiPolygon");
    expect(problemOf({ type: "constructor", coordinates: [0, 0] })).toContain("no type of GeoJSON");
    expect(problemOf({ type: "Point" })).toContain("not an array");
    expect(problemOf({ type: "Polygon", coordinates: [[0, 0]] })).toContain("not an array");
    expect(problemOf({ type: "Point", coordinates: ["a", 1] })).toContain("not a longitude");
    expect(problemOf({ type: "Point", coordinates: [53, 191] })).toContain("longitude comes first");
    expect(problemOf({ street: "Harbour Road" })).toContain("neither the type");
  });

  test("are not read without end", () => {
    let value: Json = POINT;
    for (let at = 0; at < 50; at++) value = { type: "GeometryCollection", geometries: [value] };
    expect(problemOf(value)).toContain("too deeply");
  });
});

test("an outline is drawn rather than the point that lies on it", () => {
  const area = { type: "Polygon" as const, coordinates: [] };
  const point = { type: "Point" as const, coordinates: [1, 2] };
  expect(pickHighest([point, area])).toEqual([area]);
});

test("a box is around all geometries", () => {
  const ring = [[1, 5], [3, 5], [3, -7], [1, 5]]; // prettier-ignore
  expect(
    boxOf([
      { type: "Polygon", coordinates: [ring] },
      { type: "Point", coordinates: [9, 0] },
    ]),
  ).toEqual([1, -7, 9, 5]);
  expect(boxOf([])).toBeNull();
});

test("a graticule has some lines across, at round degrees with their names", () => {
  const names = buildGraticule([9.97, 53.53, 10, 53.55]).features.map(
    (one) => one.properties?.["name"] as string,
  );
  expect(names).toContain("9.980° E");
  expect(names).toContain("53.540° N");
  expect(names.length).toBeLessThan(30);
  expect(buildGraticule([-180, -85, 180, 85]).features[0]?.properties?.["name"]).toBe("180° W");
});
