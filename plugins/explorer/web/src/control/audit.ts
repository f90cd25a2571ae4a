import type { AuditEntry } from "../api/control";
import { renderJson } from "../api/json";
import type { Json, JsonObject } from "../api/types";

/** One member of an object that a change has set, unset or replaced, as texts. */
export interface Difference {
  name: string;
  before: string | null;
  after: string | null;
}

/** What a change has done to its object, member by member, by name. */
export function listDifferences({ before, after }: AuditEntry): Difference[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names]
    .sort()
    .map((name) => ({ name, before: textOf(before, name), after: textOf(after, name) }))
    .filter((one) => one.before !== one.after);
}

function textOf(object: JsonObject | null, name: string): string | null {
  const value: Json | undefined = object?.[name];
  if (value === undefined || value === null) return null;
  return typeof value === "string" ? value : renderJson(value);
}
