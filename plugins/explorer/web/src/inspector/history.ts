import type { GraphClient } from "../api/graph";
import type { Json, JsonObject } from "../api/types";
import type { Selected } from "../app/selection";

/** What one write did to a twin or relationship. */
export interface PastChange {
  position: number;
  /** ISO 8601, up to 100 nanoseconds. */
  time: string;
  action: string;
  /** The subject of a token or the name of an API key; null where that is not known. */
  who: string | null;
  values: readonly PastValue[];
}

export interface PastValue {
  path: string;
  /** Undefined where the property was not there. */
  before: Json | undefined;
  after: Json | undefined;
  sourceTime: string | null;
}

export interface PastPage {
  changes: readonly PastChange[];
  /** The address of the page with older ones; null is the end. */
  next: string | null;
}

export type Kept = Extract<Selected, { kind: "twin" | "relationship" }>;

const SIZE = 20;

/**
 * The address of the newest changes of something: up to a moment in milliseconds, null for now, and
 * after the position `from`.
 */
export function addressOf(of: Kept, asOf: number | null, from?: number): string {
  const part = encodeURIComponent;
  const path =
    of.kind === "relationship"
      ? `/digitaltwins/${part(of.sourceId)}/relationships/${part(of.id)}/history`
      : `/digitaltwins/${part(of.id)}/history`;
  const query = new URLSearchParams({ order: "newest" });
  if (asOf !== null) query.set("to", new Date(asOf).toISOString());
  if (from !== undefined) query.set("from", String(from));
  return `${path}?${query}`;
}

/** A page of changes, the newest first. Throws `ApiError`: 501 where no history is kept. */
export async function readPast(
  graph: GraphClient,
  address: string,
  signal?: AbortSignal,
  size = SIZE,
): Promise<PastPage> {
  const page: { value: JsonObject[]; nextLink: string | null } = await graph.http.json(address, {
    headers: { "max-items-per-page": String(size) },
    ...(signal === undefined ? {} : { signal }),
  });
  return {
    changes: page.value.map(readChange),
    next: page.nextLink === null ? null : graph.http.follow(page.nextLink),
  };
}

export function readChange(one: JsonObject): PastChange {
  const { who, changes } = one;
  return {
    position: Number(one["position"]),
    time: String(one["time"]),
    action: String(one["action"]),
    who: typeof who === "string" ? who : null,
    values: (Array.isArray(changes) ? (changes as JsonObject[]) : []).map((value) => ({
      path: String(value["path"]),
      before: value["before"],
      after: value["after"],
      sourceTime: typeof value["sourceTime"] === "string" ? value["sourceTime"] : null,
    })),
  };
}

/** The first whole millisecond, since 1970, of which the state has the change in it. */
export function momentAfter(change: Pick<PastChange, "time">): number {
  const [, fraction = ""] = /\.(\d+)/.exec(change.time) ?? [];
  const isWhole = !/[1-9]/.test(fraction.slice(3));
  return Date.parse(change.time) + (isWhole ? 0 : 1);
}
