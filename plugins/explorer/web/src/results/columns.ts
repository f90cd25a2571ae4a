import { renderJson } from "../api/json";
import type { Json, JsonObject } from "../api/types";
import { isObject, isRelationship, isTwin } from "./documents";

/** A column of a result: the members that lead from the row to its value. */
export interface Column {
  id: string;
  name: string;
  path: readonly string[];
}

const ID_FIRST = ["$dtId", "$relationshipId"];
const LAST = ["$metadata", "$etag"];

/** The columns of rows, in the order in which they come; fed page by page, each row once. */
export class ColumnScan {
  private readonly found = new Map<string, Column>();
  /** Columns that had no value in a row: their members, if they have any, come with others. */
  private readonly blank = new Set<string>();
  private documents = 0;
  private rows = 0;

  constructor(
    /** Whether the members of twins, relationships and maps are columns of their own. */
    readonly spread: boolean,
  ) {}

  add(rows: readonly JsonObject[]): void {
    for (const row of rows) {
      this.rows++;
      const isDocument = isTwin(row) || isRelationship(row);
      if (isDocument) this.documents++;
      for (const name of Object.keys(row)) {
        const value = row[name];
        if (this.spread && !isDocument && isObject(value)) this.addMembers(name, value);
        else if (this.spread && value === null) this.blank.add(name);
        else this.put([name]);
      }
    }
  }

  /** The columns so far. Of rows that are documents themselves the id comes first. */
  columns(): Column[] {
    const all = [...this.found.values()];
    if (this.documents === this.rows) return sortDocument(all, 0);
    if (!this.spread) return all;
    const groups = new Map<string, Column[]>();
    for (const column of all) {
      const name = column.path[0] ?? "";
      groups.set(name, [...(groups.get(name) ?? []), column]);
    }
    for (const name of this.blank) {
      if (!groups.has(name)) groups.set(name, [columnOf([name])]);
    }
    return [...groups.values()].flatMap((group) => sortDocument(group, 1));
  }

  private addMembers(name: string, value: JsonObject): void {
    for (const member of Object.keys(value)) this.put([name, member]);
  }

  private put(path: string[]): void {
    const column = columnOf(path);
    if (!this.found.has(column.id)) this.found.set(column.id, column);
  }
}

function columnOf(path: string[]): Column {
  const id = path.map((part) => part.replaceAll("\\", "\\\\").replaceAll(".", "\\.")).join(".");
  return { id, name: path.join("."), path };
}

/**
 * Columns with a name each: `RETURN r, r.name` gives a member and a value that are both called
 * `r.name` where members are spread. The first one keeps it, the next is `r.name (2)`.
 */
export function nameApart(columns: readonly Column[]): Column[] {
  const own = new Set(columns.map((one) => one.name));
  const taken = new Set<string>();
  return columns.map((column) => {
    let { name } = column;
    for (let number = 2; taken.has(name); number++) {
      const next = `${column.name} (${number})`;
      if (!own.has(next)) name = next;
    }
    taken.add(name);
    return name === column.name ? column : { ...column, name };
  });
}

/** The id in front, metadata and etag at the end, all others as they came. */
function sortDocument(columns: Column[], depth: number): Column[] {
  const rank = (column: Column): number => {
    const name = column.path[depth] ?? "";
    if (ID_FIRST.includes(name)) return 0;
    return LAST.includes(name) ? 2 + LAST.indexOf(name) : 1;
  };
  return columns.toSorted((one, other) => rank(one) - rank(other));
}

// PERF: the scans of a result, by its first row, so that of each further page the new rows alone
// are read.
const scans = new WeakMap<JsonObject, Map<boolean, { scan: ColumnScan; read: number }>>();

/** The columns of the rows of a result, which may only grow at its end. */
export function columnsOf(rows: readonly JsonObject[], spread: boolean): Column[] {
  const [first] = rows;
  if (first === undefined) return [];
  const known = scans.get(first) ?? new Map<boolean, { scan: ColumnScan; read: number }>();
  scans.set(first, known);
  const state = known.get(spread) ?? { scan: new ColumnScan(spread), read: 0 };
  state.scan.add(rows.slice(state.read));
  known.set(spread, { scan: state.scan, read: Math.max(state.read, rows.length) });
  return nameApart(state.scan.columns());
}

/** The value of a column in a row; undefined where the row has none. */
export function valueAt(row: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = row;
  for (const name of path) {
    // SEC: own members only, so that a column named `constructor` is not a function.
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

const RANKS = ["number", "string", "boolean", "object"];

function rankOf(key: string | number | bigint | boolean): number {
  return RANKS.indexOf(typeof key === "bigint" ? "number" : typeof key);
}

/** The order of two values of a column: numbers, texts, booleans, all else, and at the end none. */
export function compareValues(one: Json | undefined, other: Json | undefined): number {
  const [left, right] = [keyOf(one), keyOf(other)];
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  const ranks = rankOf(left) - rankOf(right);
  if (ranks !== 0) return ranks;
  return left < right ? -1 : left > right ? 1 : 0;
}

/** What a value is sorted by: a twin or relationship by its id, what is nested by its text. */
export function keyOf(value: Json | undefined): string | number | bigint | boolean | null {
  if (value === undefined || value === null) return null;
  if (isTwin(value)) return value.$dtId;
  if (isRelationship(value)) return value.$relationshipId;
  return typeof value === "object" ? renderJson(value) : value;
}
