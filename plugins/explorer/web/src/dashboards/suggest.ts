import { listQuestions } from "../overview/attention";
import type { Counts } from "../models/counts";
import type { ContentInfo, ModelIndex } from "../models/index";
import { quoteName } from "../query/names";
import { newTile, TILE_KINDS, type NumberTile, type Tile } from "./content";
import { findRoom } from "./places";

/** So many models get a number of their own, and so many questions of what needs attention. */
const MOST_COUNTS = 4;
const MOST_QUESTIONS = 4;
/** So many properties get an average and a list of their highest values. */
const MOST_MEASURES = 2;
/** Twins of models of more than this are not sorted by a value: it would be a long scan. */
const MOST_SORTED = 50_000;

const NUMBERS = new Set(["double", "float", "integer", "long"]);
/** What people ask of a building first. */
const TELLING = /temperature|co2|carbon|humidity|power|energy|occupan|load|pressure/i;
/** What is a number, but is set or stays as it is built. */
const FIXED =
  /setpoint|alarm|offset|rated|nominal|sampling|limit|area|volume|height|width|length|capacity|floor|number|index|year|latitude|longitude/i;

/** The tiles of a first dashboard, out of the models and how many twins they have. */
export function suggestTiles(index: ModelIndex, counts: Counts): Tile[] {
  const measures = listMeasures(index, counts);
  const all: Tile[] = [
    ...listCounted(index, counts).map((id) => countTile(index, id)),
    ...listQuestions(index, counts).slice(0, MOST_QUESTIONS).map(concernTile),
    ...measures.map((one) => averageTile(index, one)),
    ...measures.map((one) => highestTile(index, one)),
  ];
  if (counts.total > 0) {
    const query =
      "MATCH (n)\nRETURN n.$metadata.$model AS model, count(*) AS twins\nORDER BY twins DESC\nLIMIT 12";
    all.push({ ...blank("bars"), title: "Twins by model", query });
  }
  const tiles: Tile[] = [];
  for (const tile of all) {
    tiles.push({ ...tile, place: findRoom(tiles, TILE_KINDS[tile.kind].size) });
  }
  return tiles;
}

const NOWHERE = { x: 0, y: 0, w: 1, h: 1 };

function blank<Kind extends Tile["kind"]>(kind: Kind): Extract<Tile, { kind: Kind }> {
  return newTile(kind, NOWHERE) as Extract<Tile, { kind: Kind }>;
}

function number(title: string, query: string): NumberTile {
  return { ...blank("number"), title, query };
}

/** Those of few twins come first: buildings before their sensors. */
function listCounted(index: ModelIndex, counts: Counts): string[] {
  return counts.ids
    .filter((id) => index.interfaces.has(id) && counts.own(id) > 0)
    .toReversed()
    .slice(0, MOST_COUNTS);
}

function countTile(index: ModelIndex, id: string): Tile {
  const label = quoteName(index.queryLabel(id));
  const query = `MATCH (n:${label})\nRETURN count(*) AS twins`;
  return { ...number(index.label(id), query), decimals: 0 };
}

function concernTile({ title, match }: ReturnType<typeof listQuestions>[number]): Tile {
  return {
    ...number(title, `${match}\nRETURN count(*) AS twins`),
    decimals: 0,
    rules: [
      { operator: ">", value: 0, tone: "danger" },
      { operator: "=", value: 0, tone: "good" },
    ],
  };
}

/** A number that twins of a model have, in themselves or in a component. */
interface Measure {
  model: string;
  path: readonly string[];
  content: ContentInfo;
  /** How telling it is. */
  rank: number;
}

/** The numbers that change, the most telling first; one of each model. */
function listMeasures(index: ModelIndex, counts: Counts): Measure[] {
  const found: Measure[] = [];
  for (const one of index.interfaces.values()) {
    const twins = counts.family(one.id);
    if (twins === 0 || twins > MOST_SORTED) continue;
    for (const content of one.own) {
      if (content.kind === "Property") addMeasure(found, one.id, [content]);
      if (content.kind !== "Component" || typeof content.schema !== "string") continue;
      for (const inner of index.interfaces.get(content.schema)?.contents ?? []) {
        if (inner.kind === "Property") addMeasure(found, one.id, [content, inner]);
      }
    }
  }
  return found
    .sort((one, other) => other.rank - one.rank)
    .filter(({ model }, at, all) => all.findIndex((other) => other.model === model) === at)
    .slice(0, MOST_MEASURES);
}

function addMeasure(found: Measure[], model: string, way: readonly ContentInfo[]): void {
  const content = way.at(-1);
  if (content === undefined || !NUMBERS.has(String(content.schema))) return;
  const said = [content.name, ...(content.semanticType ?? [])].join(" ");
  if (FIXED.test(said)) return;
  const rank = Number(TELLING.test(said)) * 2 + Number(content.unit !== undefined);
  found.push({ model, path: way.map(({ name }) => name), content, rank });
}

function matchOf(index: ModelIndex, { model, path }: Measure): { match: string; value: string } {
  const value = ["n", ...path.map(quoteName)].join(".");
  const label = quoteName(index.queryLabel(model));
  return { match: `MATCH (n:${label})\nWHERE ${value} IS NOT NULL`, value };
}

function averageTile(index: ModelIndex, measure: Measure): Tile {
  const { match, value } = matchOf(index, measure);
  const title = `${index.label(measure.model)}: average ${nameOf(measure)}`;
  const query = `${match}\nRETURN avg(${value}) AS average`;
  return { ...number(title, query), unit: measure.content.unit ?? "" };
}

function highestTile(index: ModelIndex, measure: Measure): Tile {
  const { match, value } = matchOf(index, measure);
  const title = `${index.label(measure.model)}: highest ${nameOf(measure)}`;
  const query = `${match}\nRETURN n, ${value} AS value\nORDER BY value DESC\nLIMIT 10`;
  return { ...blank("bars"), title, query, unit: measure.content.unit ?? "" };
}

function nameOf({ content }: Measure): string {
  return (content.displayName ?? content.name).toLowerCase();
}
