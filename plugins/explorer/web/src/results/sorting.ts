import type { JsonObject } from "../api/types";
import { compareValues, valueAt, type Column } from "./columns";

/** By which column rows are sorted; where there are several, the first goes before the next. */
export interface Sort {
  id: string;
  desc: boolean;
}

/** The rows as the table has them: what has no value stays at the end in either direction. */
export function sortRows(
  rows: readonly JsonObject[],
  columns: readonly Column[],
  sorting: readonly Sort[],
): readonly JsonObject[] {
  const sorts = sorting.flatMap(({ id, desc }) => {
    const column = columns.find((one) => one.id === id);
    return column === undefined ? [] : [{ path: column.path, sign: desc ? -1 : 1 }];
  });
  if (sorts.length === 0) return rows;
  return rows.toSorted((one, other) => {
    for (const { path, sign } of sorts) {
      const [left, right] = [valueAt(one, path) ?? null, valueAt(other, path) ?? null];
      const order = compareValues(left, right);
      if (order !== 0) return left === null || right === null ? order : order * sign;
    }
    return 0;
  });
}
