import type { AuditEntry } from "../api/control";
import { renderJson } from "../api/json";
import type { Json, JsonObject } from "../api/types";

/** One member of an object that a change has set, unset or replaced, as texts. */
export interface Difference {
  name: string;
  before: string | null;
  after: string | null;
}

/** Its moment is that of the entry itself. */
const TOUCHED = "updated_at";

/** What a change has done to its object, member by member, by name; an empty text is none. */
export function listDifferences({ before, after }: AuditEntry): Difference[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  names.delete(TOUCHED);
  return [...names]
    .sort()
    .map((name) => ({ name, before: textOf(before, name), after: textOf(after, name) }))
    .filter((one) => one.before !== one.after);
}

function textOf(object: JsonObject | null, name: string): string | null {
  const value: Json | undefined = object?.[name];
  if (value === undefined || value === null || value === "") return null;
  if (typeof value === "string") return value;
  return name.endsWith("_at") ? renderMoment(value) : renderJson(value);
}

/** Moments stand there as nanoseconds since 1970. */
function renderMoment(value: Json): string {
  const moment = new Date(Number(renderJson(value)) / 1e6);
  return Number.isNaN(moment.getTime()) ? renderJson(value) : moment.toLocaleString();
}
