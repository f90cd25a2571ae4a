import { isSame } from "../api/json";
import type { Json, JsonObject, Twin } from "../api/types";
import { LIT } from "../live/store";
import { valueAt } from "./columns";
import { isObject, isTwin } from "./documents";

const places = new WeakMap<readonly JsonObject[], ReadonlyMap<string, readonly number[]>>();

/** The rows in which a twin is, by its id. PERF: found once for a list of rows. */
export function findTwins(rows: readonly JsonObject[]): ReadonlyMap<string, readonly number[]> {
  const known = places.get(rows);
  if (known !== undefined) return known;
  const found = new Map<string, number[]>();
  const visit = (value: Json | undefined, row: number): void => {
    if (isTwin(value)) {
      const before = found.get(value.$dtId);
      if (before === undefined) found.set(value.$dtId, [row]);
      else if (before.at(-1) !== row) before.push(row);
    } else if (Array.isArray(value)) for (const one of value) visit(one, row);
    else if (isObject(value)) for (const one of Object.values(value)) visit(one, row);
  };
  rows.forEach(visit);
  places.set(rows, found);
  return found;
}

interface Past {
  row: JsonObject;
  at: number;
}

const pasts = new WeakMap<JsonObject, Past>();

/** The rows with the newest state of twins in them; the very same where none of them is new. */
export function takeNewest(
  rows: JsonObject[],
  twins: readonly Twin[],
  now = Date.now(),
): JsonObject[] {
  const newest = new Map(twins.map((one) => [one.$dtId, one]));
  const where = findTwins(rows);
  const after = [...rows];
  let changes = 0;
  for (const at of new Set(twins.flatMap((one) => where.get(one.$dtId) ?? []))) {
    const row = rows[at];
    if (row === undefined) continue;
    const made = replace(row, newest) as JsonObject;
    if (made === row) continue;
    after[at] = made;
    changes += 1;
    pasts.set(made, { row, at: now });
  }
  if (changes === 0) return rows;
  places.set(after, where);
  return after;
}

/** A value with other twins in the place of those of the same id; itself where none is another. */
function replace(value: Json, newest: ReadonlyMap<string, Twin>): Json {
  if (isTwin(value)) {
    const other = newest.get(value.$dtId);
    return other === undefined || other.$etag === value.$etag ? value : other;
  }
  if (Array.isArray(value)) {
    const made = value.map((one) => replace(one, newest));
    return made.every((one, at) => one === value[at]) ? value : made;
  }
  if (!isObject(value)) return value;
  const made = Object.entries(value).map(([name, one]) => [name, replace(one, newest)] as const);
  return made.every(([name, one]) => one === value[name]) ? value : Object.fromEntries(made);
}

/** When what a cell shows has changed, if that is not long ago; null where nothing is to light up. */
export function litSince(
  row: JsonObject,
  path: readonly string[],
  now = Date.now(),
): number | null {
  const past = pasts.get(row);
  if (past === undefined || now - past.at > LIT) return null;
  const [before, after] = [valueAt(past.row, path), valueAt(row, path)];
  return isSame(before, after) ? null : past.at;
}
