import { isSame } from "../api/json";
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

/** The document with other contents; it stays the same one, of the same version. */
export function withContents(document: JsonObject, contents: JsonObject): JsonObject {
  const identity = Object.entries(document).filter(([name]) => IDENTITY.has(name));
  return { ...Object.fromEntries(identity), ...contents };
}

/** The JSON pointer of a member within members. */
export function pointerOf(...names: string[]): string {
  return names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

export function namesOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
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
  return [...listChanges(from, to, "")];
}

function* listChanges(from: JsonObject, to: JsonObject, within: string): Generator<PatchOperation> {
  for (const name of Object.keys(from)) {
    if (!Object.hasOwn(to, name)) yield { op: "remove", path: within + pointerOf(name) };
  }
  for (const [name, value] of Object.entries(to)) {
    const path = within + pointerOf(name);
    const before = Object.hasOwn(from, name) ? from[name] : undefined;
    if (before === undefined) yield { op: "add", path, value };
    else if (isObject(before) && isObject(value)) yield* listChanges(before, value, path);
    else if (!isSame(before, value)) yield { op: "replace", path, value };
  }
}

/** Whether one pointer leads to what the other does, or into it. */
export function isWithin(pointer: string, place: string): boolean {
  return pointer === place || pointer.startsWith(`${place}/`);
}

/** Whether two pointers lead to the same place or one into the other's. */
export function touches(one: string, other: string): boolean {
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
