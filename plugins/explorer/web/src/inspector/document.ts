import { compare, escapePathComponent, unescapePathComponent } from "fast-json-patch";

import type { Json, JsonObject, PatchOperation } from "../api/types";
import { isObject } from "../results/documents";

/** Members that say which document it is; no patch changes them. */
const IDENTITY: ReadonlySet<string> = new Set([
  "$dtId",
  "$etag",
  "$relationshipId",
  "$relationshipName",
  "$sourceId",
  "$targetId",
]);

/** What of a twin or relationship can be changed. */
export function editable(document: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(document).filter(([name]) => !IDENTITY.has(name)));
}

/** The JSON pointer of a member within members. */
export function pointerOf(...names: string[]): string {
  return names.map((name) => `/${escapePathComponent(name)}`).join("");
}

export function namesOf(pointer: string): string[] {
  return pointer.split("/").slice(1).map(unescapePathComponent);
}

/** What stands at a pointer; undefined where nothing does. */
export function readAt(document: Json | undefined, pointer: string): Json | undefined {
  let value: Json | undefined = document;
  for (const name of namesOf(pointer)) {
    if (Array.isArray(value)) value = value[Number(name)];
    else if (isObject(value) && Object.hasOwn(value, name)) value = value[name];
    else return undefined;
  }
  return value;
}

/** The document with another value at a pointer; undefined takes it away. Lists are not entered. */
export function writeAt(
  document: JsonObject,
  pointer: string,
  value: Json | undefined,
): JsonObject {
  const [name, ...rest] = namesOf(pointer);
  if (name === undefined) return isObject(value) ? value : document;
  if (rest.length === 0) {
    // NOTE: what is there keeps its place, so that JSON to read does not jump about.
    if (value !== undefined) return { ...document, [name]: value };
    return Object.fromEntries(Object.entries(document).filter(([one]) => one !== name));
  }
  const inner = document[name];
  return { ...document, [name]: writeAt(isObject(inner) ? inner : {}, pointerOf(...rest), value) };
}

/**
 * The JSON Patch that makes one document of another. A list is replaced as a whole: the vendor's
 * service knows no elements of it, and whoever else changes it means the whole too.
 */
export function buildPatch(from: JsonObject, to: JsonObject): PatchOperation[] {
  const found = new Map<string, PatchOperation>();
  for (const operation of compare(from, to) as PatchOperation[]) {
    const list = findList(from, operation.path);
    if (list === null) found.set(operation.path, operation);
    else found.set(list, { op: "replace", path: list, value: readAt(to, list) ?? null });
  }
  return [...found.values()];
}

/** The outermost list that a pointer leads into. */
function findList(document: JsonObject, pointer: string): string | null {
  const names = namesOf(pointer);
  let value: Json | undefined = document;
  for (const [at, name] of names.entries()) {
    if (Array.isArray(value)) return pointerOf(...names.slice(0, at));
    value = isObject(value) ? value[name] : undefined;
  }
  return null;
}

export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return compare({ value: one }, { value: other }).length === 0;
}

/** Whether one pointer leads to what the other does, or into it. */
export function isWithin(pointer: string, place: string): boolean {
  return pointer === place || pointer.startsWith(`${place}/`);
}

function touches(one: string, other: string): boolean {
  return isWithin(one, other) || isWithin(other, one);
}

/** A place that two changed differently; undefined is that nothing stands there. */
export interface Conflict {
  path: string;
  base: Json | undefined;
  mine: Json | undefined;
  theirs: Json | undefined;
}

export interface Merged {
  /** The newest document with what I changed on it. */
  draft: JsonObject;
  conflicts: Conflict[];
  /** Where the others changed what I did not. */
  news: string[];
}

/** Puts my changes of `base` on the `next` version of it. At a conflict the draft has mine. */
export function merge(base: JsonObject, mine: JsonObject, next: JsonObject): Merged {
  const theirs = buildPatch(base, next).map((one) => one.path);
  const conflicts = new Map<string, Conflict>();
  let draft = next;
  const ours = buildPatch(base, mine).map((one) => one.path);
  for (const path of ours) {
    const touched = theirs.filter((other) => touches(path, other));
    // The wider of the places, as what is within it cannot be put where it is no more.
    const place = touched.reduce((wide, one) => (one.length < wide.length ? one : wide), path);
    const wanted = readAt(mine, place);
    draft = writeAt(draft, place, wanted);
    if (touched.length === 0 || isSame(wanted, readAt(next, place))) continue;
    const conflict = { path: place, base: readAt(base, place), mine: wanted };
    conflicts.set(place, { ...conflict, theirs: readAt(next, place) });
  }
  const kept = [...conflicts.values()].filter(
    (one) => ![...conflicts.keys()].some((wide) => wide !== one.path && isWithin(one.path, wide)),
  );
  const news = theirs.filter(
    (path) => !isMetadata(path) && !ours.some((other) => touches(path, other)),
  );
  return { draft, conflicts: kept, news };
}

/** Times of change are no news by themselves. */
export function isMetadata(pointer: string): boolean {
  return namesOf(pointer).includes("$metadata");
}
