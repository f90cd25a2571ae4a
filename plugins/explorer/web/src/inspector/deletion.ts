import type { GraphClient } from "../api/graph";
import type { JsonObject } from "../api/types";
import { isRelationship } from "../results/documents";

/** A relationship that goes with a twin; its etag is null where it could not be read. */
export interface Attached {
  sourceId: string;
  id: string;
  name: string;
  /** The twin at the other end. */
  other: string;
  etag: string | null;
}

/** More do not fit into one transaction (`Bulk__MaxOperations` is 1,000 by default). */
export const MOST_ATTACHED = 999;

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
  const listed = await graph.listIncoming(id, most, signal);
  const etags = mayQuery ? await readEtags(graph, id, most, signal) : new Map<string, string>();
  const incoming = listed
    // A relationship of a twin to itself is among both.
    .filter((one) => one.$sourceId !== id)
    .map((one) => ({
      sourceId: one.$sourceId,
      id: one.$relationshipId,
      name: one.$relationshipName,
      other: one.$sourceId,
      etag: etags.get(`${one.$sourceId}\n${one.$relationshipId}`) ?? null,
    }));
  return { outgoing, incoming };
}

// NOTE: the listing of incoming relationships has no etags.
async function readEtags(
  graph: GraphClient,
  id: string,
  most: number,
  signal?: AbortSignal,
): Promise<Map<string, string>> {
  const page = await graph.query("MATCH (t:Twin)<-[r]-() WHERE t.$dtId = $id RETURN r", {
    parameters: { id },
    pageSize: most,
    ...(signal === undefined ? {} : { signal }),
  });
  const found = page.value.map((row) => row["r"]).filter(isRelationship);
  return new Map(found.map((one) => [`${one.$sourceId}\n${one.$relationshipId}`, one.$etag]));
}

/** One transaction that deletes a twin with what is attached to it, as it was read. */
export function buildDeletion(
  id: string,
  etag: string,
  attached: readonly Attached[],
): JsonObject[] {
  const relationships = attached.map((one) => ({
    op: "deleteRelationship",
    sourceId: one.sourceId,
    relationshipId: one.id,
    ...(one.etag === null ? {} : { ifMatch: one.etag }),
  }));
  return [...relationships, { op: "deleteTwin", twinId: id, ifMatch: etag }];
}
