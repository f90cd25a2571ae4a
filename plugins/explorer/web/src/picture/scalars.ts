import type { Json } from "../api/types";
import { isObject, readReference } from "../models/interfaces";
import type { ModelIndex } from "../models/index";
import { modelOf, type Contents } from "./model";

/** A property with one value, in the twin itself or in a component or object of it. */
export interface Scalar {
  /** By dots. */
  path: string;
  isNumber: boolean;
}

const NUMBERS = new Set(["double", "float", "integer", "long", "decimal", "byte", "short"]);
/** How deep members of objects and components are listed. */
const DEEPEST = 3;

/** The properties of a model that have one value, by dots; what is an array or a map is left out. */
export function readScalars(index: ModelIndex, model: string): Scalar[] {
  const found: Scalar[] = [];
  const take = (path: string, schema: Json | undefined, depth: number): void => {
    if (typeof schema === "string") found.push({ path, isNumber: NUMBERS.has(schema) });
    else if (isObject(schema)) {
      const kind = [schema["@type"]].flat();
      if (kind.includes("Enum"))
        found.push({ path, isNumber: schema["valueSchema"] === "integer" });
      if (!kind.includes("Object") || depth >= DEEPEST) return;
      const fields = schema["fields"];
      for (const field of Array.isArray(fields) ? fields : []) {
        if (!isObject(field) || typeof field["name"] !== "string") continue;
        take(`${path}.${field["name"]}`, field["schema"], depth + 1);
      }
    }
  };
  const walk = (id: string, before: string, depth: number): void => {
    for (const { kind, name, schema } of index.interfaces.get(id)?.contents ?? []) {
      if (kind === "Property") take(before + name, schema, depth);
      if (kind !== "Component" || depth >= DEEPEST) continue;
      const [part] = readReference(schema ?? null);
      if (part !== undefined) walk(part, `${before}${name}.`, depth + 1);
    }
  };
  walk(model, "", 0);
  return found;
}

/** The properties that twins here have, those with numbers first. */
export function listProperties(contents: Contents, index: ModelIndex): Scalar[] {
  const models = new Set([...contents.nodes.values()].map(modelOf));
  const found = new Map<string, boolean>();
  for (const model of models) {
    for (const { path, isNumber } of readScalars(index, model)) {
      found.set(path, (found.get(path) ?? false) || isNumber);
    }
  }
  return [...found]
    .map(([path, isNumber]) => ({ path, isNumber }))
    .sort((a, b) => Number(b.isNumber) - Number(a.isNumber) || a.path.localeCompare(b.path));
}

/** The models of twins here that have a property, with those that they extend and have it from. */
export function listModelsWith(path: string, contents: Contents, index: ModelIndex): string[] {
  const models = new Set([...contents.nodes.values()].map(modelOf));
  const all = new Set([...models].flatMap((id) => [id, ...index.ancestors(id)]));
  return [...all]
    .filter((id) => readScalars(index, id).some((one) => one.path === path))
    .sort((a, b) => index.label(a).localeCompare(index.label(b)));
}
