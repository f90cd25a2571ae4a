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

/** The telemetry that a twin of a model may send, by component; the twin's own has the name "". */
export function listTelemetry(model: string, index: ModelIndex): Map<string, ContentInfo[]> {
  const contents = contentsOf(model, index);
  const found = new Map<string, ContentInfo[]>();
  const keep = (component: string, some: readonly ContentInfo[]): void => {
    const telemetry = some.filter((one) => one.kind === "Telemetry");
    if (telemetry.length > 0) found.set(component, telemetry);
  };
  keep("", contents);
  for (const { kind, name, schema } of contents) {
    if (kind !== "Component" || typeof schema !== "string") continue;
    keep(name, contentsOf(schema, index));
  }
  return found;
}

function contentsOf(model: string, index: ModelIndex): readonly ContentInfo[] {
  return index.interfaces.get(model)?.contents ?? [];
}
