import type { Json } from "../../api/types";
import { isObject, readReference, type ContentInfo } from "../../models/interfaces";
import type { ModelIndex } from "../../models/index";

/** A property whose values may be geometries. */
export interface GeoProperty {
  /** By dots, such as `address.position`. */
  path: string;
  /** The interfaces whose twins have it; those that extend them have it too. */
  models: string[];
  /** Whether its model says that it holds geometries; else it is a text or an object of any kind. */
  isSure: boolean;
}

const GEOSPATIAL = /^(?:point|lineString|polygon|multiPoint|multiLineString|multiPolygon)$/;
const STANDARD = /^dtmi:standard:schema:geospatial:(\w+);\d+$/;
const SAID = /\bgeo-?json\b/i;
/** How deep members of objects and components are looked at. */
const DEEPEST = 3;

/**
 * The properties of all models whose values may be geometries. A model says so by a geospatial
 * schema, by an object with GeoJSON's members or with a latitude and a longitude, or by the word
 * GeoJSON in the name, the comment or the description of the property.
 */
export function findGeoProperties(index: ModelIndex): GeoProperty[] {
  const found = new Map<string, GeoProperty>();
  const add = (path: string, model: string, isSure: boolean): void => {
    const known = found.get(path) ?? { path, models: [], isSure: false };
    found.set(path, {
      path,
      models: [...new Set([...known.models, model])],
      isSure: known.isSure || isSure,
    });
  };
  const take = (
    model: string,
    path: string,
    schema: Json,
    isSaid: boolean,
    depth: number,
  ): void => {
    if (isSaid || isGeospatial(schema)) return add(path, model, true);
    if (schema === "string") return add(path, model, false);
    if (!isObject(schema) || ![schema["@type"]].flat().includes("Object")) return;
    const fields = listFields(schema);
    const names = fields.map(([name]) => name);
    if (isGeometry(names)) return add(path, model, true);
    add(path, model, false);
    if (depth >= DEEPEST) return;
    for (const [name, inner] of fields) take(model, `${path}.${name}`, inner, false, depth + 1);
  };
  const walk = (model: string, contents: readonly ContentInfo[], before: string): void => {
    for (const one of contents) {
      const path = before + one.name;
      if (one.kind === "Property") take(model, path, one.schema ?? null, isSaidBy(one), 1);
      if (one.kind !== "Component" || path.split(".").length >= DEEPEST) continue;
      const [part] = readReference(one.schema ?? null);
      walk(model, index.interfaces.get(part ?? "")?.contents ?? [], `${path}.`);
    }
  };
  for (const { id, own } of index.interfaces.values()) walk(id, own, "");
  return [...found.values()].sort(
    (one, other) => Number(other.isSure) - Number(one.isSure) || (one.path < other.path ? -1 : 1),
  );
}

function isSaidBy({ name, displayName, comment, description }: ContentInfo): boolean {
  return [name, displayName, comment, description].some((said) => said && SAID.test(said));
}

function isGeospatial(schema: Json): boolean {
  const [name] = readReference(schema);
  if (name === undefined) return false;
  return GEOSPATIAL.test(STANDARD.exec(name)?.[1] ?? name);
}

function listFields(schema: Record<string, Json>): [string, Json][] {
  const fields = Array.isArray(schema["fields"]) ? schema["fields"] : [];
  return fields.flatMap((one): [string, Json][] =>
    isObject(one) && typeof one["name"] === "string" ? [[one["name"], one["schema"] ?? null]] : [],
  );
}

function isGeometry(names: readonly string[]): boolean {
  const has = (...wanted: string[]): boolean => wanted.every((one) => names.includes(one));
  return (
    has("type", "coordinates") ||
    has("latitude", "longitude") ||
    (has("lat") && (has("lon") || has("lng") || has("long")))
  );
}
