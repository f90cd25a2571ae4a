import type { Geometry, Position } from "geojson";

import { parseJson } from "../../api/json";
import type { Json } from "../../api/types";
import { isObject } from "../../models/interfaces";

/** Geometries that were read, or why a value is none, in words. */
export type Reading = { geometries: Geometry[] } | { problem: string };

/** How deep the positions of each type lie in its `coordinates`. */
const DEPTHS: Readonly<Record<string, number>> = {
  Point: 0,
  MultiPoint: 1,
  LineString: 1,
  MultiLineString: 2,
  Polygon: 2,
  MultiPolygon: 3,
};
/** SEC: collections within collections, as a value may be written to nest without end. */
const DEEPEST = 8;

/**
 * The geometries of a value: GeoJSON as an object or as a text, or an object with a latitude and a
 * longitude. SPEC: RFC 7946; a Feature gives its geometry, and longitude comes first.
 */
export function readGeometries(value: Json): Reading {
  try {
    return { geometries: listGeometries(readDocument(value), 0) };
  } catch (error) {
    if (error instanceof NoGeometry) return { problem: error.message };
    throw error;
  }
}

class NoGeometry extends Error {}

function readDocument(value: Json): Json {
  if (typeof value !== "string") return value;
  try {
    return parseJson(value);
  } catch (error) {
    throw new NoGeometry(`The text is not JSON: ${(error as Error).message}`);
  }
}

function listGeometries(value: Json, depth: number): Geometry[] {
  if (!isObject(value)) throw new NoGeometry("It is not a JSON object.");
  if (depth > DEEPEST) throw new NoGeometry("Its collections are nested too deeply.");
  const { type } = value;
  if (type === undefined) return [readLatitude(value)];
  if (type === "Feature") {
    const { geometry = null } = value;
    return geometry === null ? [] : listGeometries(geometry, depth + 1);
  }
  for (const [kind, member] of COLLECTIONS) {
    if (type !== kind) continue;
    const parts = value[member];
    if (!Array.isArray(parts)) throw new NoGeometry(`Its ${member} are not an array.`);
    return parts.flatMap((one) => listGeometries(one, depth + 1));
  }
  const levels = typeof type === "string" && Object.hasOwn(DEPTHS, type) ? DEPTHS[type] : undefined;
  if (levels === undefined) {
    const known = Object.keys(DEPTHS).join(", ");
    throw new NoGeometry(`Its type is no type of GeoJSON: it can be ${known}.`);
  }
  checkPositions(value["coordinates"], levels);
  return [{ type, coordinates: value["coordinates"] } as Geometry];
}

const COLLECTIONS = [
  ["FeatureCollection", "features"],
  ["GeometryCollection", "geometries"],
] as const;

/** What such objects call their members, the latitude first. */
const PAIRS = [
  ["latitude", "longitude"],
  ["lat", "lon"],
  ["lat", "lng"],
  ["lat", "long"],
] as const;

function readLatitude(value: Record<string, Json>): Geometry {
  for (const [latitude, longitude] of PAIRS) {
    const [x = null, y = null] = [value[longitude], value[latitude]];
    if (x === null || y === null) continue;
    checkPositions([x, y], 0);
    return { type: "Point", coordinates: [x, y] as Position };
  }
  throw new NoGeometry("It has neither the type of a GeoJSON object nor latitude and longitude.");
}

function checkPositions(value: Json | undefined, levels: number): void {
  if (!Array.isArray(value)) throw new NoGeometry("Its coordinates are not an array.");
  if (levels > 0) {
    for (const one of value) checkPositions(one, levels - 1);
    return;
  }
  const [longitude, latitude] = value;
  if (typeof longitude !== "number" || typeof latitude !== "number") {
    throw new NoGeometry("A position of it is not a longitude and a latitude.");
  }
  if (Math.abs(longitude) > 180 || Math.abs(latitude) > 90) {
    throw new NoGeometry(
      `Its position [${longitude}, ${latitude}] is not on the earth: longitude comes first, from ` +
        "-180 to 180, then latitude, from -90 to 90.",
    );
  }
}

/** 2 for an area, 1 for a line, 0 for points. */
export function rankOf({ type }: Geometry): number {
  return type.endsWith("Polygon") ? 2 : type.endsWith("LineString") ? 1 : 0;
}

/** Those of the highest rank: where a twin has an outline, its point would only lie on it. */
export function pickHighest(geometries: readonly Geometry[]): Geometry[] {
  const most = Math.max(...geometries.map(rankOf));
  return geometries.filter((one) => rankOf(one) === most);
}

export type Box = [west: number, south: number, east: number, north: number];

/** The box around all of them; null where there is none. */
export function boxOf(geometries: Iterable<Geometry>): Box | null {
  const box: Box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const one of geometries) {
    for (const [x = 0, y = 0] of listPositions(one)) {
      box[0] = Math.min(box[0], x);
      box[1] = Math.min(box[1], y);
      box[2] = Math.max(box[2], x);
      box[3] = Math.max(box[3], y);
    }
  }
  return box[0] === Infinity ? null : box;
}

function listPositions(geometry: Geometry): Position[] {
  if (geometry.type === "GeometryCollection") return geometry.geometries.flatMap(listPositions);
  let found: unknown[] = [geometry.coordinates];
  for (let level = DEPTHS[geometry.type] ?? 0; level > 0; level--) found = found.flat();
  return found as Position[];
}

/** Steps between the lines of a graticule, in degrees. */
const STEPS = [
  30, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4,
];
/** So many lines are across at least. */
const LEAST_LINES = 4;

/** Meridians and parallels over a box, with what is written at each. */
export function buildGraticule([west, south, east, north]: Box): GeoJSON.FeatureCollection {
  const span = Math.min(east - west, north - south);
  const step = STEPS.find((one) => span / one >= LEAST_LINES) ?? 1e-4;
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const features: GeoJSON.Feature[] = [];
  const add = (coordinates: Position[], degrees: number, signs: string): void => {
    const name = `${Math.abs(degrees).toFixed(digits)}° ${degrees < 0 ? signs[0] : signs[1]}`;
    features.push({
      type: "Feature",
      properties: { name },
      geometry: { type: "LineString", coordinates },
    });
  };
  for (let at = Math.ceil(west / step); at <= east / step; at++) {
    const x = at * step;
    add([[x, Math.max(-85, south)], [x, Math.min(85, north)]], x, "WE"); // prettier-ignore
  }
  for (let at = Math.ceil(south / step); at <= north / step; at++) {
    const y = at * step;
    if (Math.abs(y) <= 85) add([[west, y], [east, y]], y, "SN"); // prettier-ignore
  }
  return { type: "FeatureCollection", features };
}
