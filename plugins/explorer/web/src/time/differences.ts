import type { GraphClient } from "../api/graph";
import type { Json, JsonObject, Relationship, Twin } from "../api/types";
import { edgeKey, labelOf, type Contents } from "../picture/model";
import { isRelationship, isTwin } from "../results/documents";

export const ACTIONS = ["created", "updated", "deleted"] as const;
export type Action = (typeof ACTIONS)[number];

/** What differs between two states of the graph, of one twin or relationship. */
export interface Difference {
  kind: "twin" | "relationship";
  /** The id of a twin, the `edgeKey` of a relationship. */
  key: string;
  name: string;
  action: Action;
  changes: { path: string; before: Json | undefined; after: Json | undefined }[];
  /** What was deleted, as it was before. */
  before: Twin | Relationship | null;
}

export interface Differences {
  all: readonly Difference[];
  /** Whether there are others, which were not read. */
  more: boolean;
}

/** More differences than these are not read: nobody could look at them. */
export const MOST_DIFFERENCES = 5000;
const PAGE = 1000;

interface ChangesPage {
  value: JsonObject[];
  nextLink: string | null;
  /** Positions of the two states. */
  from: number;
  to: number;
}

export interface Between {
  /** Milliseconds since 1970; no `to` is now. */
  from: number;
  to: number | null;
}

function pathOf({ from, to }: Between, include: string): string {
  const query = new URLSearchParams({ from: new Date(from).toISOString(), include });
  if (to !== null) query.set("to", new Date(to).toISOString());
  return `/changes?${query}`;
}

/** The first page of differences, of so many; with the positions of both states. */
export function pageDifferences(
  graph: GraphClient,
  between: Between,
  include: string,
  size: number,
  signal?: AbortSignal,
): Promise<ChangesPage> {
  return graph.http.json(pathOf(between, include), {
    headers: { "max-items-per-page": String(size) },
    signal,
  });
}

/** What differs between two moments. Throws `ApiError`: 410 and 501 where that is not kept. */
export async function readDifferences(
  graph: GraphClient,
  between: Between,
  include: string,
  signal?: AbortSignal,
): Promise<Differences> {
  let page = await pageDifferences(graph, between, include, PAGE, signal);
  const found = [...page.value];
  while (page.nextLink !== null && found.length < MOST_DIFFERENCES) {
    page = await graph.http.json(graph.http.follow(page.nextLink), { signal });
    found.push(...page.value);
  }
  return {
    all: found.slice(0, MOST_DIFFERENCES).flatMap((one) => readDifference(one) ?? []),
    more: page.nextLink !== null || found.length > MOST_DIFFERENCES,
  };
}

export function readDifference(one: JsonObject): Difference | null {
  const action = ACTIONS.find((known) => known === one["action"]);
  if (action === undefined) return null;
  const document = one["before"] ?? one["after"];
  const changes = (Array.isArray(one["changes"]) ? (one["changes"] as JsonObject[]) : []).map(
    ({ path, before, after }) => ({ path: String(path), before, after }),
  );
  const { before } = one;
  if (one["kind"] === "twin") {
    const id = String(one["id"]);
    return {
      kind: "twin",
      key: id,
      name: isTwin(document) ? labelOf(id, document) : id,
      action,
      changes,
      before: isTwin(before) ? before : null,
    };
  }
  if (one["kind"] !== "relationship") return null;
  const [source, id] = [String(one["sourceId"]), String(one["relationshipId"])];
  return {
    kind: "relationship",
    key: edgeKey(source, id),
    name: isRelationship(document)
      ? `${source} ${document.$relationshipName} ${document.$targetId}`
      : `${source} ${id}`,
    action,
    changes,
    before: isRelationship(before) ? before : null,
  };
}

/**
 * A picture with what was deleted: twins that the query found before, and what hung on those that
 * are there, with the relationships between them.
 */
export function withDeleted(
  contents: Contents,
  differences: readonly Difference[],
  found: ReadonlySet<string>,
): Contents {
  const deleted = differences.filter((one) => one.action === "deleted");
  const twins = new Map<string, Twin>();
  const edges: Relationship[] = [];
  for (const { key, before } of deleted) {
    if (isTwin(before ?? undefined)) twins.set(key, before as Twin);
    else if (isRelationship(before ?? undefined)) edges.push(before as Relationship);
  }
  const nodes = new Map(contents.nodes);
  for (const [id, twin] of twins) if (found.has(id)) nodes.set(id, twin);
  for (const { $sourceId, $targetId } of edges) {
    const [from, to] = [contents.nodes.has($sourceId), contents.nodes.has($targetId)];
    const id = from ? $targetId : $sourceId;
    // An end that is still there, and was found for this relationship's sake.
    if (from !== to && (twins.has(id) || found.has(id))) nodes.set(id, twins.get(id) ?? null);
  }
  const drawn = edges.filter((one) => nodes.has(one.$sourceId) && nodes.has(one.$targetId));
  if (nodes.size === contents.nodes.size && drawn.length === 0) return contents;
  return {
    nodes,
    edges: new Map([
      ...drawn.map((one) => [edgeKey(one.$sourceId, one.$relationshipId), one] as const),
      ...contents.edges,
    ]),
    left: contents.left,
  };
}
