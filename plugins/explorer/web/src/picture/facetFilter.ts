import { renderJson } from "../api/json";
import type { Json, JsonObject, Twin } from "../api/types";
import { valueAt } from "../results/columns";

/** What a facet lets through: twins whose property has one of these values, or lies between two. */
export type FacetChoice =
  | { property: string; kind: "values"; values: readonly string[] }
  | { property: string; kind: "range"; from: number | null; to: number | null };

/** A value as facets write it. */
export function writeValue(value: Json): string {
  return typeof value === "string" ? value : renderJson(value);
}

/** How many twins have a value, and how many of those are to be seen. */
export interface FacetValue {
  value: string;
  count: number;
  shown: number;
}

/** What the twins of a picture have of a property. */
export interface Facet {
  /** The values by their numbers, the most first; of a property of numbers too. */
  values: FacetValue[];
  /** How many twins have it. */
  count: number;
  /** The least and the greatest number; null where there is none. */
  span: readonly [least: number, most: number] | null;
}

/** Counts the values of a property. `shown` are the twins that are to be seen. */
export function countFacet(
  twins: ReadonlyMap<string, Twin | null>,
  shown: ReadonlySet<string>,
  property: string,
): Facet {
  const path = property.split(".");
  const found = new Map<string, FacetValue>();
  let [count, least, most] = [0, Infinity, -Infinity];
  for (const [id, twin] of twins) {
    const value = twin === null ? null : valueAt(twin as JsonObject, path);
    if (value === undefined || value === null) continue;
    const text = writeValue(value);
    const one = found.get(text) ?? { value: text, count: 0, shown: 0 };
    found.set(text, one);
    count += 1;
    one.count += 1;
    if (shown.has(id)) one.shown += 1;
    if (typeof value !== "number" && typeof value !== "bigint") continue;
    [least, most] = [Math.min(least, Number(value)), Math.max(most, Number(value))];
  }
  const values = [...found.values()].sort(
    (one, other) => other.count - one.count || one.value.localeCompare(other.value),
  );
  return { values, count, span: least > most ? null : [least, most] };
}

/** The choices with one of a property in place of what was chosen of it; null takes it away. */
export function changeFacet(
  choices: readonly FacetChoice[],
  property: string,
  choice: FacetChoice | null,
): readonly FacetChoice[] {
  const others = choices.filter((one) => one.property !== property);
  return choice === null ? others : [...others, choice];
}

/** Whether a twin passes every one of the choices. A twin without the property does not. */
export function passesFacets(choices: readonly FacetChoice[], twin: Twin | null): boolean {
  return choices.every((choice) => {
    const value =
      twin === null ? undefined : valueAt(twin as JsonObject, choice.property.split("."));
    if (value === undefined || value === null) return false;
    if (choice.kind === "values") return choice.values.includes(writeValue(value));
    if (typeof value !== "number" && typeof value !== "bigint") return false;
    const { from, to } = choice;
    return (from === null || value >= from) && (to === null || value <= to);
  });
}
