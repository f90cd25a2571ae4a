import { ApiError } from "../api/errors";
import type { GraphClient } from "../api/graph";
import type { IncomingRelationship, JsonObject } from "../api/types";
import { isRelationship } from "../results/documents";

/** A relationship that goes with a twin, as it was read. */
export interface Attached {
  sourceId: string;
  id: string;
  name: string;
  /** The twin at the other end. */
  other: string;
  etag: string;
}

/** What fits into one transaction (`Bulk__MaxOperations` is 1,000 by default). */
const MOST_OPERATIONS = 1000;

/** More than these a page had better not delete. */
export const MOST_ATTACHED = 100_000;

/** How many relationships are read at once where each is read by itself. */
const READERS = 6;

/** Everything that leads from a twin and to it, each once; one more than can be deleted at most. */
export async function readAttached(
  graph: GraphClient,
  id: string,
  mayQuery: boolean,
  signal?: AbortSignal,
): Promise<{ outgoing: Attached[]; incoming: Attached[] }> {
  const most = MOST_ATTACHED + 1;
  const outgoing = (await graph.listRelationships(id, most, signal)).map((one) => ({
    sourceId: id,
    id: one.$relationshipId,
    name: one.$relationshipName,
    other: one.$targetId,
    etag: one.$etag,
  }));
  // A relationship of a twin to itself is among both.
  const listed = (await graph.listIncoming(id, most, signal)).filter((one) => one.$sourceId !== id);
  if (outgoing.length + listed.length > MOST_ATTACHED) {
    return { outgoing, incoming: listed.map((one) => attach(one, "")) };
  }
  const etags =
    mayQuery && listed.length > 0 ? await queryEtags(graph, id, signal) : new Map<string, string>();
  const incoming = await readMissing(graph, listed, etags, signal);
  return { outgoing, incoming };
}

function keyOf(one: { $sourceId: string; $relationshipId: string }): string {
  return `${one.$sourceId}\n${one.$relationshipId}`;
}

function attach(one: IncomingRelationship, etag: string): Attached {
  return {
    sourceId: one.$sourceId,
    id: one.$relationshipId,
    name: one.$relationshipName,
    other: one.$sourceId,
    etag,
  };
}

// NOTE: the listing of incoming relationships has no etags.
async function queryEtags(
  graph: GraphClient,
  id: string,
  signal?: AbortSignal,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  let token: string | null = null;
  do {
    const page = await graph.query("MATCH (t:Twin)<-[r]-() WHERE t.$dtId = $id RETURN r", {
      parameters: { id },
      pageSize: MOST_OPERATIONS,
      ...(token === null ? {} : { continuationToken: token }),
      ...(signal === undefined ? {} : { signal }),
    });
    for (const one of page.value.map((row) => row["r"]).filter(isRelationship)) {
      found.set(keyOf(one), one.$etag);
    }
    token = page.continuationToken;
  } while (token !== null && found.size <= MOST_ATTACHED);
  return found;
}

/** The relationships with their etags: those that no query told are read one by one. */
async function readMissing(
  graph: GraphClient,
  listed: readonly IncomingRelationship[],
  etags: Map<string, string>,
  signal?: AbortSignal,
): Promise<Attached[]> {
  const missing = listed.filter((one) => !etags.has(keyOf(one))).values();
  const read = async (): Promise<void> => {
    for (const one of missing) {
      try {
        const found = await graph.readRelationship(one.$sourceId, one.$relationshipId, signal);
        etags.set(keyOf(one), found.$etag);
      } catch (error) {
        // It went meanwhile, so that it does not stand in the way any more.
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: READERS }, read));
  return listed.flatMap((one) => {
    const etag = etags.get(keyOf(one));
    return etag === undefined ? [] : [attach(one, etag)];
  });
}

/**
 * The transactions that delete a twin with what is attached to it, as it was read; the twin goes
 * with the last.
 */
export function buildDeletion(
  id: string,
  etag: string,
  attached: readonly Attached[],
  most = MOST_OPERATIONS,
): JsonObject[][] {
  const operations: JsonObject[] = attached.map((one) => ({
    op: "deleteRelationship",
    sourceId: one.sourceId,
    relationshipId: one.id,
    ifMatch: one.etag,
  }));
  operations.push({ op: "deleteTwin", twinId: id, ifMatch: etag });
  const count = Math.ceil(operations.length / most);
  return Array.from({ length: count }, (_, at) => operations.slice(at * most, (at + 1) * most));
}
