import type { GraphClient } from "../api/graph";
import type { JsonObject } from "../api/types";
import type { Counts } from "../models/counts";
import { quoteName } from "../query/names";
import type { Containment, Edge } from "./containment";

/** A twin as a location, or as something at one. */
export interface Located {
  id: string;
  /** What it is called; its id where it has no name. */
  name: string;
  model: string;
  /** How many parts it has, each as often as a relationship says so. */
  below: number;
}

export interface Level {
  rows: Located[];
  /** Whether there are more than were asked for. */
  more: boolean;
}

/** So many parts of a whole are read at once. */
export const LEVEL = 200;
/** So many relationships tell which names look like containment, and where its top is. */
const SAMPLE = 300;
/** Deeper than this nothing is looked for. */
const DEEPEST = 24;
/** So many levels below a whole count as in it. */
const WITHIN = 16;
/** Of a model with more twins, those at the top are not looked for one by one. */
const MOST_OF_A_MODEL = 20_000;

/** The pattern between a whole and its parts in one direction; null where no name is of it. */
function listTypes(
  containment: readonly Containment[],
  direction: Containment["direction"],
): string | null {
  const names = containment.filter((one) => one.direction === direction);
  return names.length === 0 ? null : names.map((one) => quoteName(one.name)).join("|");
}

/** The patterns from a whole to its parts, `(whole)-[…]->(part)` or back. */
function listPatterns(containment: readonly Containment[], whole: string, part: string): string[] {
  const [down, up] = [listTypes(containment, "down"), listTypes(containment, "up")];
  return [
    ...(down === null ? [] : [`(${whole})-[:${down}]->(${part})`]),
    ...(up === null ? [] : [`(${part})-[:${up}]->(${whole})`]),
  ];
}

/** The pattern from a whole to all that is in it, on any level: down its parts, then up to them. */
export function renderWithin(containment: readonly Containment[], part: string): string {
  const [down, up] = [listTypes(containment, "down"), listTypes(containment, "up")];
  if (up === null) return `(whole)-[:${down ?? ""}*1..${WITHIN}]->(${part})`;
  const parts = down === null ? "" : `-[:${down}*0..${WITHIN}]->()`;
  return `(whole)${parts}<-[:${up}*0..${WITHIN}]-(${part})`;
}

/** Whether something is in a twin. */
export async function hasParts(
  graph: GraphClient,
  containment: readonly Containment[],
  id: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const parts = listPatterns(containment, "t", "").map((one) => `EXISTS { ${one} }`);
  const { value } = await graph.query(
    `MATCH (t) WHERE t.$dtId = $id RETURN ${parts.join(" OR ")} AS has`,
    { parameters: { id }, ...(signal ? { signal } : {}) },
  );
  return value[0]?.["has"] === true;
}

/** How many twins of each model are in a twin, on any level. */
export async function readWithin(
  graph: GraphClient,
  containment: readonly Containment[],
  id: string,
  signal?: AbortSignal,
): Promise<{ model: string; twins: number }[]> {
  const { value } = await graph.query(
    `MATCH ${renderWithin(containment, "t")} WHERE whole.$dtId = $id AND t.$dtId <> $id ` +
      "RETURN t.`$metadata`.`$model` AS model, count(DISTINCT t) AS twins ORDER BY twins DESC, model",
    { parameters: { id }, ...(signal ? { signal } : {}) },
  );
  return value.map((row) => ({ model: String(row["model"]), twins: Number(row["twins"]) }));
}

/** What is returned of `t`: its name, its model, and how much is below it. */
function columnsOf(containment: readonly Containment[]): string {
  const counts = listPatterns(containment, "t", "").map((one) => `COUNT { ${one} }`);
  return (
    "t.$dtId AS id, coalesce(t.name, t.displayName, t.title) AS name, " +
    `t.\`$metadata\`.\`$model\` AS model, ${counts.join(" + ") || "0"} AS below`
  );
}

function readRow(row: JsonObject): Located {
  const [id, name] = [String(row["id"]), row["name"]];
  return {
    id,
    name: typeof name === "string" && name.trim() !== "" ? name : id,
    model: String(row["model"] ?? ""),
    below: Number(row["below"] ?? 0),
  };
}

function sortRows(rows: Iterable<Located>): Located[] {
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  return [...rows].sort((one, other) => {
    return compare(one.name, other.name) || compare(one.id, other.id);
  });
}

/** The parts of a whole by name, at most `limit`. */
export async function readParts(
  graph: GraphClient,
  containment: readonly Containment[],
  id: string,
  limit: number,
  signal?: AbortSignal,
): Promise<Level> {
  const asked = listPatterns(containment, "whole", "t").map((pattern) =>
    graph.query(
      `MATCH ${pattern} WHERE whole.$dtId = $id AND t.$dtId <> $id ` +
        `RETURN DISTINCT ${columnsOf(containment)} ORDER BY name, id LIMIT ${limit + 1}`,
      { parameters: { id }, pageSize: limit + 1, ...(signal ? { signal } : {}) },
    ),
  );
  const rows = (await Promise.all(asked)).flatMap((page) => page.value.map(readRow));
  const found = sortRows(new Map(rows.map((one) => [one.id, one])).values());
  return { rows: found.slice(0, limit), more: found.length > limit };
}

/** The whole of each of these twins that has one. */
async function readWholes(
  graph: GraphClient,
  containment: readonly Containment[],
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, Located>> {
  const asked = listPatterns(containment, "t", "part").map((pattern) =>
    graph.query(
      `MATCH ${pattern} WHERE part.$dtId IN $ids ` +
        `RETURN DISTINCT part.$dtId AS part, ${columnsOf(containment)} LIMIT ${4 * SAMPLE}`,
      { parameters: { ids: [...ids] }, pageSize: 4 * SAMPLE, ...(signal ? { signal } : {}) },
    ),
  );
  const found = new Map<string, Located>();
  for (const { value } of await Promise.all(asked)) {
    for (const row of value) {
      const part = String(row["part"]);
      if (!found.has(part)) found.set(part, readRow(row));
    }
  }
  return found;
}

/** What a twin is called, and where it is: its whole and the whole of that, `Level 0 · North Wing`. */
export interface Called {
  name: string;
  place: string;
}

/** What these twins are called and where they are, by id. PERF: three queries, however many. */
export async function readCalled(
  graph: GraphClient,
  containment: readonly Containment[],
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, Called>> {
  const wholesOf = (of: readonly string[]): Promise<Map<string, Located>> =>
    of.length === 0 ? Promise.resolve(new Map()) : readWholes(graph, containment, of, signal);
  const [page, wholes] = await Promise.all([
    graph.query(
      "MATCH (t) WHERE t.$dtId IN $ids " +
        "RETURN t.$dtId AS id, coalesce(t.name, t.displayName, t.title) AS name",
      { parameters: { ids: [...ids] }, pageSize: ids.length, ...(signal ? { signal } : {}) },
    ),
    wholesOf(ids),
  ]);
  const above = await wholesOf([...new Set([...wholes.values()].map((one) => one.id))]);
  return new Map(
    page.value.map(readRow).map(({ id, name }) => {
      const whole = wholes.get(id);
      const way = [whole, whole && above.get(whole.id)].flatMap((one) => one?.name ?? []);
      return [id, { name, place: way.join(" · ") }];
    }),
  );
}

/** Where a twin is: what contains it, from the top down to its own whole. */
export async function readWay(
  graph: GraphClient,
  containment: readonly Containment[],
  id: string,
  signal?: AbortSignal,
): Promise<Located[]> {
  const way: Located[] = [];
  if (containment.length === 0) return way;
  const seen = new Set([id]);
  for (let at = id; way.length < DEEPEST;) {
    const whole = (await readWholes(graph, containment, [at], signal)).get(at);
    if (whole === undefined || seen.has(whole.id)) break;
    seen.add(whole.id);
    way.unshift(whole);
    at = whole.id;
  }
  return way;
}

/**
 * What nothing contains. PERF: not by a look at every twin: from some relationships up to their
 * top, then the twins of the models that are found there.
 */
export async function readTop(
  graph: GraphClient,
  containment: readonly Containment[],
  counts: Counts | null,
  signal?: AbortSignal,
): Promise<Level> {
  const options = { pageSize: SAMPLE, ...(signal ? { signal } : {}) };
  const sampled = listPatterns(containment, "t", "part").map((pattern) =>
    graph.query(`MATCH ${pattern} RETURN ${columnsOf(containment)} LIMIT ${SAMPLE}`, options),
  );
  const begun = (await Promise.all(sampled)).flatMap((page) => page.value.map(readRow));
  let level = new Map(begun.map((one) => [one.id, one]));
  const seen = new Set<string>();
  const top = new Map<string, Located>();
  for (let depth = 0; level.size > 0 && depth < DEEPEST; depth++) {
    for (const id of level.keys()) seen.add(id);
    const wholes = await readWholes(graph, containment, [...level.keys()], signal);
    for (const [id, one] of level) if (!wholes.has(id)) top.set(id, one);
    level = new Map(
      [...wholes.values()].filter((one) => !seen.has(one.id)).map((one) => [one.id, one]),
    );
  }
  const models = new Set([...top.values()].map((one) => one.model));
  const few = [...models].filter((id) => (counts?.own(id) ?? Infinity) <= MOST_OF_A_MODEL);
  const others = few.slice(0, 8).map((model) => {
    const lies = listPatterns(containment, "", "t").map((one) => `NOT EXISTS { ${one} }`);
    const holds = listPatterns(containment, "t", "").map((one) => `EXISTS { ${one} }`);
    return graph.query(
      `MATCH (t:${quoteName(model)}) WHERE ${lies.join(" AND ")} AND (${holds.join(" OR ")}) ` +
        `RETURN ${columnsOf(containment)} LIMIT ${LEVEL + 1}`,
      { ...options, pageSize: LEVEL + 1 },
    );
  });
  for (const { value } of await Promise.all(others)) {
    for (const row of value.map(readRow)) top.set(row.id, row);
  }
  const rows = sortRows(top.values());
  return { rows: rows.slice(0, LEVEL), more: rows.length > LEVEL };
}

/** Some relationships, by which names that say nothing are judged: of each of these, or of any. */
export async function sampleEdges(
  graph: GraphClient,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<Edge[]> {
  const types = names.length === 0 ? [""] : names.slice(0, 8).map((one) => `:${quoteName(one)}`);
  const asked = types.map((type) =>
    graph.query(
      `MATCH (a)-[r${type}]->(b) RETURN type(r) AS name, a.$dtId AS source, b.$dtId AS target ` +
        `LIMIT ${SAMPLE}`,
      { pageSize: SAMPLE, ...(signal ? { signal } : {}) },
    ),
  );
  return (await Promise.all(asked)).flatMap(({ value }) =>
    value.map((row) => ({
      name: String(row["name"]),
      source: String(row["source"]),
      target: String(row["target"]),
    })),
  );
}
