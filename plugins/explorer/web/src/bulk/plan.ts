import { isSame, renderJson } from "../api/json";
import type { Json, JsonObject, PatchOperation, Twin } from "../api/types";
import { buildPatch, editable, pointerOf, readAt, writeAt } from "../inspector/document";
import { readSchema, type FieldSchema } from "../inspector/schema";
import type { ModelIndex } from "../models/index";
import { isObject } from "../results/documents";
import { readReference } from "../models/interfaces";
import { readScalars } from "../picture/scalars";

/** As many as one transaction of the service takes by default (`Bulk__MaxOperations`). */
export const MOST_AT_ONCE = 1000;

/** A property that some of the twins have by their models. */
export interface BulkProperty {
  /** By dots. */
  path: string;
  schema: FieldSchema;
  /** The models that have it, with this very schema. */
  models: ReadonlySet<string>;
}

/** What becomes of a twin: a patch, or why there is none. */
export interface Step {
  twin: Twin;
  before: Json | undefined;
  patch: PatchOperation[];
  /** Why it is left as it is; null where it changes. */
  reason: "has no such property" | "is so already" | null;
}

/** The properties with one value that these models have. One name of two schemas is two of them. */
export function listBulkProperties(index: ModelIndex, models: Iterable<string>): BulkProperty[] {
  const found = new Map<string, { path: string; schema: FieldSchema; models: Set<string> }>();
  for (const model of models) {
    for (const { path } of readScalars(index, model)) {
      const written = findSchema(index, model, path.split("."));
      const schema = readSchema(written);
      if (!["boolean", "text", "enum"].includes(schema.kind)) continue;
      const key = `${path}\n${renderJson(written ?? null)}`;
      const one = found.get(key) ?? { path, schema, models: new Set<string>() };
      one.models.add(model);
      found.set(key, one);
    }
  }
  return [...found.values()].sort(
    (one, other) => other.models.size - one.models.size || one.path.localeCompare(other.path),
  );
}

/** The schema at a path within a model, into its components and objects. */
function findSchema(index: ModelIndex, model: string, path: readonly string[]): Json | undefined {
  const [name, ...rest] = path;
  const content = index.interfaces.get(model)?.contents.find((one) => one.name === name);
  if (content === undefined) return undefined;
  if (content.kind === "Component") {
    const [part] = readReference(content.schema ?? null);
    return part === undefined ? undefined : findSchema(index, part, rest);
  }
  let schema: Json | undefined = content.schema;
  for (const field of rest) {
    const fields: Json[] =
      isObject(schema) && Array.isArray(schema["fields"]) ? schema["fields"] : [];
    const one = fields.find((each) => isObject(each) && each["name"] === field);
    schema = isObject(one) ? one["schema"] : undefined;
  }
  return schema;
}

/** What setting a property of all to a value comes to; undefined takes the value away. */
export function planBulk(
  twins: readonly Twin[],
  property: BulkProperty,
  value: Json | undefined,
): Step[] {
  const pointer = pointerOf(...property.path.split("."));
  return twins.map((twin) => {
    const before = readAt(twin, pointer);
    if (!property.models.has(twin.$metadata.$model)) {
      return { twin, before, patch: [], reason: "has no such property" };
    }
    if (isSame(before, value)) return { twin, before, patch: [], reason: "is so already" };
    const patch = buildPatch(editable(twin), editable(writeAt(twin, pointer, value) as Twin));
    return { twin, before, patch, reason: null };
  });
}

/** The operations of a transaction: each on the very version that was shown. */
export function renderBulk(steps: readonly Step[]): JsonObject[] {
  return steps
    .filter((one) => one.reason === null)
    .map(({ twin, patch }) => ({
      op: "patchTwin",
      twinId: twin.$dtId,
      patch: patch as unknown as Json,
      ifMatch: twin.$etag,
    }));
}

/** The ids of twins that are no longer as they were sent; those that are gone are not among them. */
export function findChanged(sent: readonly Step[], newest: readonly Twin[]): string[] {
  const etags = new Map(sent.map(({ twin }) => [twin.$dtId, twin.$etag]));
  return newest
    .filter(({ $dtId, $etag }) => etags.has($dtId) && etags.get($dtId) !== $etag)
    .map((one) => one.$dtId);
}

/**
 * The operations that take it back, on the twins as they are now. Throws where one of them has
 * another value since, which would be lost: then none is taken back.
 */
export function undoBulk(
  now: readonly Twin[],
  path: string,
  set: Json | undefined,
  before: ReadonlyMap<string, Json | undefined>,
): JsonObject[] {
  const pointer = pointerOf(...path.split("."));
  const known = new Map(now.map((one) => [one.$dtId, one]));
  const others = [...before.keys()].filter((id) => {
    const twin = known.get(id);
    return twin === undefined || !isSame(readAt(twin, pointer), set);
  });
  if (others.length > 0) {
    const some = others.slice(0, 5).join(", ");
    const more = others.length > 5 ? ` and ${others.length - 5} more` : "";
    throw new Error(
      `Nothing was undone: ${path} of ${some}${more} has another value since, or the twin is gone.`,
    );
  }
  return [...before].flatMap(([id, value]) => {
    const twin = known.get(id);
    if (twin === undefined) return [];
    const patch = buildPatch(editable(twin), editable(writeAt(twin, pointer, value) as Twin));
    return [{ op: "patchTwin", twinId: id, patch: patch as unknown as Json, ifMatch: twin.$etag }];
  });
}
