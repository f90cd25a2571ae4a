import { KINDS, type Content } from "../api/workspaces";
import { renderJson } from "../api/json";
import type { Json, JsonObject } from "../api/types";
import { isObject } from "../results/documents";

/** How many columns the grid has; rows go on downwards. */
export const COLUMNS = 12;
/** More tiles than these are no dashboard any more, and a load on the service. */
export const MOST_TILES = 100;
/** So many rows a tile has at most. */
export const TALLEST = 40;

/** Where a tile is, in cells of the grid. */
export interface Place {
  x: number;
  y: number;
  w: number;
  h: number;
}

export const OPERATORS = [">", ">=", "<", "<=", "=", "!="] as const;
export type Operator = (typeof OPERATORS)[number];
export const TONES = ["good", "warning", "danger"] as const;
export type Tone = (typeof TONES)[number];

/** The colour of a number where it compares so; the first rule that holds gives it. */
export interface NumberRule {
  operator: Operator;
  value: number;
  tone: Tone;
}

/** What a number is compared with: its value so long ago. */
export const SPANS = ["1h", "24h", "7d"] as const;
export type Span = (typeof SPANS)[number];

interface AnyTile {
  /** Unique on the dashboard. */
  id: string;
  title: string;
  place: Place;
}

/** The value of a column in the first row of a query. */
export interface NumberTile extends AnyTile {
  kind: "number";
  query: string;
  /** Empty for the first column with a number. */
  column: string;
  unit: string;
  decimals: number;
  rules: readonly NumberRule[];
  since: Span | null;
}

/** Bars: of each row the first text is the name, and the first number the length. */
export interface BarsTile extends AnyTile {
  kind: "bars";
  query: string;
  unit: string;
}

export interface TableTile extends AnyTile {
  kind: "table";
  query: string;
}

export interface TextTile extends AnyTile {
  kind: "text";
  text: string;
}

/** Values over time, as the view of charts draws them. */
export interface SeriesTile extends AnyTile {
  kind: "series";
  /** The fragment of the address of a chart (`time/request.ts`). */
  chart: string;
}

/** Twins of a kept picture where it has them, in its colours. */
export interface PictureTile extends AnyTile {
  kind: "picture";
  /** The id of the workspace. */
  workspace: string;
}

export type Tile = NumberTile | BarsTile | SeriesTile | TableTile | PictureTile | TextTile;
export type TileKind = Tile["kind"];

/** How large a new tile is, and what it is called where it is offered. */
export const TILE_KINDS: Readonly<
  Record<TileKind, { name: string; about: string; size: Pick<Place, "w" | "h"> }>
> = {
  number: { name: "Number", about: "One value of a query", size: { w: 3, h: 2 } },
  bars: { name: "Bars", about: "A number for each row of a query", size: { w: 6, h: 5 } },
  series: {
    name: "Values over time",
    about: "A chart of values of twins",
    size: { w: 6, h: 5 },
  },
  table: { name: "Table", about: "The rows of a query", size: { w: 6, h: 5 } },
  picture: {
    name: "Picture",
    about: "The picture that a workspace keeps",
    size: { w: 6, h: 6 },
  },
  text: { name: "Text", about: "A heading or a note", size: { w: 4, h: 2 } },
};

/** What the tile asks for; null where it asks for nothing. */
export function queryOf(tile: Tile): string | null {
  return "query" in tile ? tile.query : null;
}

/** An empty tile of a kind. */
export function newTile(kind: TileKind, place: Place): Tile {
  const common = { id: crypto.randomUUID().slice(0, 8), title: "", place };
  switch (kind) {
    case "number":
      return {
        ...common,
        kind,
        query: "",
        column: "",
        unit: "",
        decimals: 1,
        rules: [],
        since: null,
      };
    case "bars":
      return { ...common, kind, query: "", unit: "" };
    case "series":
      return { ...common, kind, chart: "" };
    case "table":
      return { ...common, kind, query: "" };
    case "picture":
      return { ...common, kind, workspace: "" };
    case "text":
      return { ...common, kind, text: "" };
  }
}

/** The content of the workspace that keeps these tiles. */
export function renderDashboard(tiles: readonly Tile[]): Content {
  return {
    kind: "dashboard",
    version: KINDS.dashboard.version,
    tiles: tiles as unknown as Json[],
  };
}

/**
 * The tiles of a kept content. Throws with where and what is wrong, as anybody may have written it.
 */
export function readDashboard(content: JsonObject): Tile[] {
  const found = content["tiles"] ?? [];
  if (!Array.isArray(found)) return fail("tiles", "a list", found);
  if (found.length > MOST_TILES) {
    throw new Error(
      `The dashboard has ${found.length} tiles; at most ${MOST_TILES} are shown on one.`,
    );
  }
  const tiles = found.map(readTile);
  const ids = new Set<string>();
  tiles.forEach((tile, at) => {
    if (ids.has(tile.id)) fail(`tiles[${at}].id`, "another than that of the tiles before", tile.id);
    ids.add(tile.id);
  });
  return tiles;
}

function fail(where: string, wanted: string, found: Json | undefined): never {
  const told = found === undefined ? "missing" : renderJson(found).slice(0, 80);
  throw new Error(`The dashboard cannot be read: \`${where}\` has to be ${wanted}; it is ${told}.`);
}

function readTile(found: Json, at: number): Tile {
  const where = `tiles[${at}]`;
  if (!isObject(found)) return fail(where, "an object", found);
  const text = (name: string): string => {
    const value = found[name] ?? "";
    return typeof value === "string" ? value : fail(`${where}.${name}`, "a text", value);
  };
  const id = text("id");
  if (id === "") fail(`${where}.id`, "a text with a character", found["id"]);
  const common = { id, title: text("title"), place: readPlace(found["place"], `${where}.place`) };
  const { kind } = found;
  switch (kind) {
    case "number":
      return {
        ...common,
        kind,
        query: text("query"),
        column: text("column"),
        unit: text("unit"),
        decimals: readWhole(found["decimals"] ?? 1, `${where}.decimals`, 0, 10),
        rules: readRules(found["rules"] ?? [], `${where}.rules`),
        since: readSince(found["since"] ?? null, `${where}.since`),
      };
    case "bars":
      return { ...common, kind, query: text("query"), unit: text("unit") };
    case "series":
      return { ...common, kind, chart: text("chart") };
    case "table":
      return { ...common, kind, query: text("query") };
    case "picture":
      return { ...common, kind, workspace: text("workspace") };
    case "text":
      return { ...common, kind, text: text("text") };
    default:
      return fail(`${where}.kind`, `one of ${Object.keys(TILE_KINDS).join(", ")}`, kind);
  }
}

function readPlace(found: Json | undefined, where: string): Place {
  if (!isObject(found)) return fail(where, "an object with x, y, w and h", found);
  const w = readWhole(found["w"], `${where}.w`, 1, COLUMNS);
  return {
    x: readWhole(found["x"], `${where}.x`, 0, COLUMNS - w),
    y: readWhole(found["y"], `${where}.y`, 0, MOST_TILES * TALLEST),
    w,
    h: readWhole(found["h"], `${where}.h`, 1, TALLEST),
  };
}

function readWhole(found: Json | undefined, where: string, least: number, most: number): number {
  if (typeof found === "number" && Number.isInteger(found) && found >= least && found <= most) {
    return found;
  }
  return fail(where, `a whole number from ${least} to ${most}`, found);
}

function readRules(found: Json, where: string): NumberRule[] {
  if (!Array.isArray(found)) return fail(where, "a list", found);
  return found.map((one, at) => {
    const named = `${where}[${at}]`;
    if (!isObject(one)) return fail(named, "an object with operator, value and tone", one);
    const operator = OPERATORS.find((each) => each === one["operator"]);
    const tone = TONES.find((each) => each === one["tone"]);
    const { value } = one;
    if (operator === undefined) {
      return fail(`${named}.operator`, `one of ${OPERATORS.join(" ")}`, one["operator"]);
    }
    if (typeof value !== "number") return fail(`${named}.value`, "a number", value);
    if (tone === undefined) return fail(`${named}.tone`, `one of ${TONES.join(", ")}`, one["tone"]);
    return { operator, value, tone };
  });
}

function readSince(found: Json, where: string): Span | null {
  if (found === null) return null;
  return SPANS.find((one) => one === found) ?? fail(where, `one of ${SPANS.join(", ")}`, found);
}
