import { ApiError } from "../api/errors";
import type { GraphClient } from "../api/graph";
import type { JsonObject } from "../api/types";
import { addressOf, readPast, type Kept, type PastChange } from "../inspector/history";
import { readRelationships, readTwins } from "../picture/ask";
import { edgeKey, labelOf } from "../picture/model";

/** A change of a twin or relationship, as the start shows it. */
export interface RecentChange extends PastChange {
  of: Kept;
  /** The twin by its name, a relationship by those of its ends; the id of what is gone. */
  name: string;
}

/** So many positions before the last one are looked at. */
const BACK = 40;
/** So many things that changed have their history read. */
const MOST = 8;
/** So many changes of each are read. */
const EACH = 3;
/** A clock here may be ahead of the service's by so much, in milliseconds. */
const SKEW = 10 * 60_000;

interface Compared {
  to: number;
  value: JsonObject[];
}

/**
 * The last changes, the newest first; null where the service keeps none. PERF: what is read is
 * bounded by `BACK`, however much was written before.
 */
export async function readRecent(
  graph: GraphClient,
  signal: AbortSignal,
): Promise<RecentChange[] | null> {
  try {
    const since = new Date(Date.now() - SKEW).toISOString();
    const { to } = await compare(graph, since, 1, signal);
    if (to < 1) return [];
    const from = Math.max(0, to - BACK);
    const { value } = await compare(graph, String(from), 2 * BACK, signal);
    const found = value.reverse().flatMap((one) => readKept(one) ?? []);
    const shown = found.slice(0, MOST);
    const [histories, names] = await Promise.all([
      Promise.all(shown.map((of) => readPast(graph, addressOf(of, null, from), signal, EACH))),
      readNames(graph, shown, signal),
    ]);
    return histories
      .flatMap(({ changes }, at) => {
        const of = shown[at];
        return of === undefined
          ? []
          : changes.map((one) => ({ ...one, of, name: names[at] ?? of.id }));
      })
      .sort((one, other) => other.position - one.position)
      .slice(0, MOST);
  } catch (error) {
    // 501: it keeps no history; 410: not that far back.
    if (error instanceof ApiError && (error.status === 501 || error.status === 410)) return null;
    throw error;
  }
}

function compare(
  graph: GraphClient,
  from: string,
  size: number,
  signal: AbortSignal,
): Promise<Compared> {
  const query = new URLSearchParams({ from, include: "twins,relationships" });
  return graph.http.json(`/changes?${query}`, {
    headers: { "max-items-per-page": String(size) },
    signal,
  });
}

function readKept(one: JsonObject): Kept | null {
  if (one["kind"] === "twin") return { kind: "twin", id: String(one["id"]) };
  if (one["kind"] !== "relationship") return null;
  const [sourceId, id] = [String(one["sourceId"]), String(one["relationshipId"])];
  return { kind: "relationship", sourceId, id };
}

/** A twin by its name, a relationship by those of its ends; the id of what is gone. */
async function readNames(
  graph: GraphClient,
  shown: readonly Kept[],
  signal: AbortSignal,
): Promise<string[]> {
  const links = shown.filter((one) => one.kind === "relationship");
  const relationships = await readAllowed(() => readRelationships(graph, links));
  const ends = relationships.flatMap((one) => [one.$sourceId, one.$targetId]);
  const ids = [...shown.filter((one) => one.kind === "twin").map(({ id }) => id), ...ends];
  const twins = await readAllowed(() => readTwins(graph, [...new Set(ids)], signal));
  const known = new Map(twins.map((twin) => [twin.$dtId, twin]));
  const byKey = new Map(
    relationships.map((one) => [edgeKey(one.$sourceId, one.$relationshipId), one]),
  );
  const name = (id: string): string => labelOf(id, known.get(id));
  return shown.map((one) => {
    if (one.kind !== "relationship") return name(one.id);
    const found = byKey.get(edgeKey(one.sourceId, one.id));
    if (found === undefined) return one.id;
    return `${name(found.$sourceId)} –${found.$relationshipName}→ ${name(found.$targetId)}`;
  });
}

/** What is found; nothing for who may not query. */
async function readAllowed<One>(read: () => Promise<One[]>): Promise<One[]> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return [];
    throw error;
  }
}
