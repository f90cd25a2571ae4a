import type { JsonObject } from "../api/types";
import type { ContentInfo, ModelIndex } from "../models/index";
import { isObject } from "../results/documents";
import { fits, readSchema } from "./schema";

/**
 * The components of a new twin, empty. SPEC: every component of the model must be present, at
 * least as an object with an empty `$metadata`.
 */
export function buildComponents(
  model: string,
  index: ModelIndex,
  above: readonly string[] = [],
): JsonObject {
  const built: JsonObject = {};
  for (const { kind, name, schema } of contentsOf(model, index)) {
    if (kind !== "Component" || typeof schema !== "string" || above.includes(schema)) continue;
    built[name] = { $metadata: {}, ...buildComponents(schema, index, [...above, schema]) };
  }
  return built;
}

/** What of a document these contents have as well, with values that their schemas take. */
export function carryOver(
  document: JsonObject,
  contents: readonly ContentInfo[],
  index: ModelIndex,
): JsonObject {
  const carried: JsonObject = {};
  for (const { kind, name, schema } of contents) {
    const value = Object.hasOwn(document, name) ? document[name] : undefined;
    if (value === undefined) continue;
    if (kind === "Property" && fits(readSchema(schema), value)) carried[name] = value;
    if (kind !== "Component" || !isObject(value) || typeof schema !== "string") continue;
    carried[name] = { $metadata: {}, ...carryOver(value, contentsOf(schema, index), index) };
  }
  return carried;
}

function contentsOf(model: string, index: ModelIndex): readonly ContentInfo[] {
  return index.interfaces.get(model)?.contents ?? [];
}
