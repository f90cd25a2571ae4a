import { ApiError } from "../api/errors";
import type { GraphClient } from "../api/graph";
import { pageDifferences } from "./differences";
import { readFirstKept } from "./read";

/** So often the time is halved in which the graph began. */
const HALVINGS = 8;

/**
 * The first moment from `from` on that can be shown and at which something is there, within a 256th
 * of the span. Throws `ApiError`: 501 where no history is kept.
 */
export async function findBeginning(
  graph: GraphClient,
  from: number,
  to: number,
  signal?: AbortSignal,
): Promise<number> {
  let low = from;
  try {
    if ((await positionAt(graph, from, signal)) > 0) return from;
  } catch (error) {
    const isOld = error instanceof ApiError && error.status === 410;
    const first = isOld ? readFirstKept(error.message) : null;
    if (first === null) throw error;
    return Math.min(to, Date.parse(first) + 1);
  }
  // Nothing was there yet: there may be long time without anything.
  let high = to;
  for (let count = 0; count < HALVINGS; count++) {
    const middle = (low + high) / 2;
    if ((await positionAt(graph, middle, signal)) > 0) high = middle;
    else low = middle;
  }
  return low;
}

async function positionAt(graph: GraphClient, moment: number, signal?: AbortSignal) {
  const between = { from: Math.round(moment), to: null };
  const page = await pageDifferences(graph, between, "twins", 1, signal);
  return page.from;
}
