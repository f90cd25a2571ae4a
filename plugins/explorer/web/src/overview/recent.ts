import { ApiError } from "../api/errors";
import type { GraphClient } from "../api/graph";
import type { Json, JsonObject } from "../api/types";
import type { Selected } from "../app/selection";

/** A change of a twin, relationship or model, as the start shows it. */
export interface RecentChange {
  position: number;
  /** ISO 8601; null where the history of such a thing is not told. */
  time: string | null;
  action: string;
  who: string | null;
  /** The paths of what was changed, where it was an update. */
  paths: string[];
  of: Selected;
}

/** So many positions before the last one are looked at. */
const BACK = 40;
/** So many things that changed have their history read. */
const MOST = 8;
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
    const found = value.reverse().flatMap((one) => readSelected(one) ?? []);
    const read = found.slice(0, MOST).map((of) => readHistory(graph, of, from, signal));
    return (await Promise.all(read))
      .flat()
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

function readSelected(one: JsonObject): Selected | null {
  if (one["kind"] === "twin") return { kind: "twin", id: String(one["id"]) };
  if (one["kind"] !== "relationship") return null;
  const [sourceId, id] = [String(one["sourceId"]), String(one["relationshipId"])];
  return { kind: "relationship", sourceId, id };
}

async function readHistory(
  graph: GraphClient,
  of: Selected,
  from: number,
  signal: AbortSignal,
): Promise<RecentChange[]> {
  const part = encodeURIComponent;
  const path =
    of.kind === "relationship"
      ? `/digitaltwins/${part(of.sourceId)}/relationships/${part(of.id)}/history`
      : `/digitaltwins/${part(of.id)}/history`;
  const page: { value: JsonObject[] } = await graph.http.json(`${path}?order=newest&from=${from}`, {
    headers: { "max-items-per-page": "3" },
    signal,
  });
  return page.value.map((one) => ({
    position: Number(one["position"]),
    time: typeof one["time"] === "string" ? one["time"] : null,
    action: String(one["action"] ?? "changed"),
    who: typeof one["who"] === "string" ? one["who"] : null,
    paths: one["action"] === "updated" ? readPaths(one["changes"]) : [],
    of,
  }));
}

function readPaths(changes: Json | undefined): string[] {
  if (!Array.isArray(changes)) return [];
  return changes.map((one) => String((one as JsonObject)["path"]));
}
