import { renderJson } from "../api/json";
import type { Json, JsonObject } from "../api/types";
import { isObject, isRelationship, isTwin } from "../results/documents";
import { labelOf } from "../picture/model";
import type { NumberRule, NumberTile, Tone } from "./content";

export type Numeric = number | bigint;

export function isNumeric(value: Json | undefined): value is Numeric {
  return typeof value === "bigint" || (typeof value === "number" && Number.isFinite(value));
}

/** The value that a number tile shows. Throws with what would be right where there is none. */
export function readNumber(rows: readonly JsonObject[], { column }: NumberTile): Numeric | null {
  const [row] = rows;
  if (row === undefined) return null;
  if (column !== "") {
    if (!Object.hasOwn(row, column)) {
      const names = Object.keys(row).join(", ");
      throw new Error(`The rows have no column «${column}». They have: ${names}.`);
    }
    const value = row[column];
    if (value === null || value === undefined) return null;
    if (isNumeric(value)) return value;
    throw new Error(`The column «${column}» has no number: ${renderJson(value).slice(0, 80)}.`);
  }
  const values = Object.values(row);
  const found = values.find(isNumeric);
  if (found !== undefined) return found;
  if (values.length > 0 && values.every((one) => one === null)) return null;
  throw new Error(
    "The first row has no number. Return one, such as `RETURN count(*) AS rooms` or `avg(r.area)`.",
  );
}

/** The colour that rules give a number; null where none holds. */
export function toneOf(value: Numeric, rules: readonly NumberRule[]): Tone | null {
  return rules.find((rule) => holds(Number(value), rule))?.tone ?? null;
}

function holds(value: number, { operator, value: wanted }: NumberRule): boolean {
  switch (operator) {
    case ">":
      return value > wanted;
    case ">=":
      return value >= wanted;
    case "<":
      return value < wanted;
    case "<=":
      return value <= wanted;
    case "=":
      return value === wanted;
    case "!=":
      return value !== wanted;
  }
}

export function showNumber(value: Numeric, decimals: number, sign = false): string {
  return new Intl.NumberFormat(undefined, {
    maximumFractionDigits: decimals,
    signDisplay: sign ? "exceptZero" : "auto",
  }).format(value);
}

/** A bar: what it is of, where that is a twin, and how long it is. */
export interface Bar {
  label: string;
  twin: string | null;
  value: number;
}

/** The bars of rows. Throws where a row has no number to draw. */
export function readBars(rows: readonly JsonObject[]): Bar[] {
  return rows.flatMap((row): Bar[] => {
    const values = Object.values(row);
    const value = values.find(isNumeric);
    if (value === undefined) {
      if (values.some((one) => one === null)) return [];
      throw new Error(
        "A row has no number. Return a name and a number, such as `RETURN r.name AS room, r.area AS area`.",
      );
    }
    const named = values.find((one) => isTwin(one) || typeof one === "string");
    const twin = isTwin(named) ? named : null;
    const label = twin !== null ? labelOf(twin.$dtId, twin) : showValue(named ?? null);
    return [{ label, twin: twin?.$dtId ?? null, value: Number(value) }];
  });
}

/** A value in one line. */
export function showValue(value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (isTwin(value)) return labelOf(value.$dtId, value);
  if (isRelationship(value))
    return `${value.$sourceId} ${value.$relationshipName} ${value.$targetId}`;
  if (isNumeric(value)) return showNumber(value, 6);
  if (isObject(value) && typeof value["id"] === "string") return value["id"];
  return renderJson(value).slice(0, 200);
}
