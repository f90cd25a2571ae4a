import type { JsonObject } from "../api/types";
import type { ShownSeries } from "./useSeries";

/** Rows of a time with the value of each series that has one then, in the order of time. */
export function joinSeries(shown: readonly ShownSeries[]): JsonObject[] {
  const columns = shown.map(nameColumn);
  const rows = new Map<number, JsonObject>();
  shown.forEach(({ values }, at) => {
    values.times.forEach((time, place) => {
      const row = rows.get(time) ?? {
        time: new Date(time * 1000).toISOString(),
        // All of them, so that they have one order.
        ...Object.fromEntries(columns.map((one) => [one, null])),
      };
      rows.set(time, { ...row, [columns[at] ?? ""]: values.values[place] ?? null });
    });
  });
  return [...rows].sort(([one], [other]) => one - other).map(([, row]) => row);
}

/** What a series is called where there is nothing beside it. */
export function nameColumn({ name, twinName, unit }: ShownSeries): string {
  const twin = twinName === name.twin ? name.twin : `${twinName} (${name.twin})`;
  return `${twin} ${name.path.replaceAll("/", ".")}${unit === "" ? "" : ` [${unit}]`}`;
}
