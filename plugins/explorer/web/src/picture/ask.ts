import type { GraphClient } from "../api/graph";
import type { JsonObject, Relationship, Twin } from "../api/types";
import { collectDocuments } from "../results/documents";
import { edgeKey, MOST_EDGES, type Contents } from "./model";

export type Direction = "out" | "in" | "both";

/** How many neighbours one step brings. */
export const STEP = 100;
const BATCH = 2000;
const PAGE = 2000;

/** All rows of a query, page after page, at most about `limit`. */
async function askAll(
  graph: GraphClient,
  text: string,
  parameters: JsonObject,
  limit: number,
  signal?: AbortSignal,
): Promise<JsonObject[]> {
  const rows: JsonObject[] = [];
  let token: string | null = null;
  do {
    const page = await graph.query(text, {
      parameters,
      pageSize: PAGE,
      ...(token === null ? {} : { continuationToken: token }),
      ...(signal === undefined ? {} : { signal }),
    });
    rows.push(...page.value);
    token = page.continuationToken;
  } while (token !== null && rows.length < limit);
  return rows;
}

function batches<One>(ids: readonly One[]): One[][] {
  const found: One[][] = [];
  for (let at = 0; at < ids.length; at += BATCH) found.push(ids.slice(at, at + BATCH));
  return found;
}

/** The documents of these twins; those that are gone are left out. */
export async function readTwins(
  graph: GraphClient,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<Twin[]> {
  const found: Twin[] = [];
  for (const some of batches(ids)) {
    const text = "MATCH (t) WHERE t.$dtId IN $some RETURN t";
    const rows = await askAll(graph, text, { some }, Infinity, signal);
    found.push(...collectDocuments(rows).twins);
  }
  return found;
}

/** These relationships by source and id; those that are gone are left out. */
export async function readRelationships(
  graph: GraphClient,
  wanted: readonly { sourceId: string; id: string }[],
): Promise<Relationship[]> {
  const keys = new Set(wanted.map(({ sourceId, id }) => edgeKey(sourceId, id)));
  const found: Relationship[] = [];
  const text =
    "MATCH (a)-[r]->(b) WHERE a.$dtId IN $sources AND r.$relationshipId IN $some RETURN r";
  for (const lot of batches(wanted)) {
    const parameters = {
      sources: [...new Set(lot.map(({ sourceId }) => sourceId))],
      some: [...new Set(lot.map(({ id }) => id))],
    };
    const rows = await askAll(graph, text, parameters, Infinity);
    found.push(...collectDocuments(rows).relationships);
  }
  // An id is of its source alone: others of the lot may have one that is called the same.
  return found.filter((one) => keys.has(edgeKey(one.$sourceId, one.$relationshipId)));
}

/** The relationships that lead from one of these twins to another; `more`: there are others yet. */
export async function readBetween(
  graph: GraphClient,
  sources: readonly string[],
  targets: readonly string[],
  limit: number,
  signal?: AbortSignal,
): Promise<{ relationships: Relationship[]; more: boolean }> {
  const found: Relationship[] = [];
  // PERF: both lists are bound as one value each, and the index of sources is asked; the targets
  // are only looked up in a set.
  const text = "MATCH (a)-[r]->(b) WHERE a.$dtId IN $some AND b.$dtId IN $targets RETURN r";
  for (const some of batches(sources)) {
    if (found.length >= limit) break;
    const rows = await askAll(graph, text, { some, targets: [...targets] }, limit, signal);
    found.push(...collectDocuments(rows).relationships);
  }
  return { relationships: found.slice(0, limit), more: found.length >= limit };
}

/** A relationship name in backticks, as Cypher reads any. */
function quote(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

/** `names`: of the relationships; none are all. */
function pattern(direction: Direction, names: readonly string[]): string {
  const inner = names.length === 0 ? "[r]" : `[r:${names.map(quote).join("|")}]`;
  const left = direction === "in" ? "<-" : "-";
  return `(a)${left}${inner}-${direction === "out" ? ">" : ""}(b)`;
}

export interface Expansion {
  twins: Twin[];
  relationships: Relationship[];
  /** How many neighbours there are that are not in the picture yet. */
  more: number;
}

/** The next `STEP` neighbours of a twin that are not in the picture, and what leads to them. */
export async function readNeighbours(
  graph: GraphClient,
  id: string,
  direction: Direction,
  name: string | null,
  contents: Contents,
): Promise<Expansion> {
  const where = `MATCH ${pattern(direction, name === null ? [] : [name])} WHERE a.$dtId = $id`;
  const known = [...contents.nodes.keys()];
  const parameters = { id, known };
  const fresh = `${where} AND NOT b.$dtId IN $known`;
  const [counted, rows, among] = await Promise.all([
    graph.query(`${fresh} RETURN count(DISTINCT b) AS n`, { parameters }),
    askAll(graph, `${fresh} WITH DISTINCT b LIMIT ${STEP} RETURN b`, parameters, STEP),
    askAll(graph, `${where} AND b.$dtId IN $known RETURN r`, parameters, Infinity),
  ]);
  const { twins } = collectDocuments(rows);
  const ids = twins.map((one) => one.$dtId);
  const [out, back] = await Promise.all([
    readBetween(graph, ids, [...known, ...ids], Infinity),
    readBetween(graph, known.includes(id) ? known : [...known, id], ids, Infinity),
  ]);
  const total = Number(counted.value[0]?.["n"] ?? 0);
  return {
    twins,
    relationships: [
      ...collectDocuments(among).relationships,
      ...out.relationships,
      ...back.relationships,
    ],
    more: Math.max(0, total - twins.length),
  };
}

/** How far and along what a twin is expanded. */
export interface Reach {
  /** From 1 to `MOST_STEPS`. */
  steps: number;
  direction: Direction;
  /** The names of the relationships; none are all. */
  names: readonly string[];
}

export const MOST_STEPS = 5;
/** How many twins one expansion by several steps brings at most. */
export const MOST_AROUND = 3000;

/** All that is within some steps of a twin, the nearest first; `more`: there would be others yet. */
export async function readAround(
  graph: GraphClient,
  id: string,
  { steps, direction, names }: Reach,
): Promise<{ twins: Twin[]; relationships: Relationship[]; more: boolean }> {
  const text = `MATCH ${pattern(direction, names)} WHERE a.$dtId IN $some RETURN r, b`;
  const twins = new Map<string, Twin>();
  const relationships = new Map<string, Relationship>();
  let edge = [id];
  for (let step = 0; step < steps && edge.length > 0; step++) {
    const before = edge;
    edge = [];
    for (const some of batches(before)) {
      const most = MOST_EDGES - relationships.size;
      const found = collectDocuments(await askAll(graph, text, { some }, most));
      for (const twin of found.twins) {
        if (twin.$dtId === id || twins.has(twin.$dtId)) continue;
        if (twins.size >= MOST_AROUND)
          return { ...listFound(id, twins, relationships), more: true };
        twins.set(twin.$dtId, twin);
        edge.push(twin.$dtId);
      }
      for (const one of found.relationships) {
        relationships.set(edgeKey(one.$sourceId, one.$relationshipId), one);
      }
      if (relationships.size >= MOST_EDGES) {
        return { ...listFound(id, twins, relationships), more: true };
      }
    }
  }
  return { ...listFound(id, twins, relationships), more: false };
}

/** What was found, without relationships to what was not. */
function listFound(
  id: string,
  twins: ReadonlyMap<string, Twin>,
  relationships: ReadonlyMap<string, Relationship>,
): { twins: Twin[]; relationships: Relationship[] } {
  const isThere = (end: string): boolean => end === id || twins.has(end);
  return {
    twins: [...twins.values()],
    relationships: [...relationships.values()].filter(
      (one) => isThere(one.$sourceId) && isThere(one.$targetId),
    ),
  };
}

export interface Kind {
  name: string;
  direction: "out" | "in";
  count: number;
}

/** How many relationships of which name a twin has. */
export async function countKinds(graph: GraphClient, id: string): Promise<Kind[]> {
  const ask = async (direction: "out" | "in"): Promise<Kind[]> => {
    const text = `MATCH ${pattern(direction, [])} WHERE a.$dtId = $id RETURN type(r) AS name, count(*) AS n`;
    const { value } = await graph.query(text, { parameters: { id }, pageSize: PAGE });
    return value.map((row) => ({
      name: String(row["name"]),
      direction,
      count: Number(row["n"]),
    }));
  };
  const found = (await Promise.all([ask("out"), ask("in")])).flat();
  return found.sort((one, other) => one.name.localeCompare(other.name));
}

/** The longest path that is looked for. */
export const LONGEST_PATH = 16;

/** A shortest way between two twins of the whole graph, whichever way relationships lead. */
export async function readPath(
  graph: GraphClient,
  from: string,
  to: string,
): Promise<{ twins: Twin[]; relationships: Relationship[] } | null> {
  const text =
    "MATCH p = shortestPath((a {$dtId: $from})-" +
    `[*..${LONGEST_PATH}]-(b {$dtId: $to})) RETURN nodes(p) AS n, relationships(p) AS r`;
  const { value } = await graph.query(text, { parameters: { from, to } });
  return value.length === 0 ? null : collectDocuments(value.slice(0, 1));
}
