import type { GraphClient } from "../api/graph";
import type { Relationship, Twin } from "../api/types";
import { useNotices } from "../app/notices";
import {
  LONGEST_PATH,
  MOST_AROUND,
  readAround,
  readNeighbours,
  readPath,
  type Direction,
  type Reach,
} from "./ask";
import { useFill } from "./fill";
import { edgeKey, findPath, listLeaves } from "./model";
import { usePicture, type Path } from "./store";

async function saying(what: string, work: () => Promise<void>): Promise<void> {
  useFill.setState({ busy: what });
  try {
    await work();
  } catch (error) {
    useNotices.getState().sayError(error);
  } finally {
    useFill.setState({ busy: null });
  }
}

/** Bring the neighbours of a twin into the picture, a step of them at a time. */
export function expand(
  graph: GraphClient,
  id: string,
  direction: Direction = "both",
  name: string | null = null,
): Promise<void> {
  return saying(`Reading the neighbours of ${id}`, async () => {
    const { contents, add } = usePicture.getState();
    const { twins, relationships, more } = await readNeighbours(
      graph,
      id,
      direction,
      name,
      contents,
    );
    add(twins, relationships);
    const { say } = useNotices.getState();
    if (twins.length === 0) say(`${id} has no other neighbours.`);
    else if (more > 0) {
      say(`${twins.length} neighbours of ${id} came in; ${more} more are left. Expand it again.`);
    }
  });
}

/** Bring all that is within some steps of a twin into the picture. */
export function expandAround(graph: GraphClient, id: string, reach: Reach): Promise<void> {
  return saying(`Reading what is around ${id}`, async () => {
    const { contents, add } = usePicture.getState();
    const { twins, relationships, more } = await readAround(graph, id, reach);
    add(twins, relationships);
    const fresh = twins.filter((one) => !contents.nodes.has(one.$dtId)).length;
    useNotices
      .getState()
      .say(
        (fresh === 1 ? "1 twin came in." : `${fresh.toLocaleString()} twins came in.`) +
          (more
            ? ` There are more: an expansion brings at most ${MOST_AROUND.toLocaleString()} twins. ` +
              "Take fewer steps, one direction, or fewer relationships."
            : ""),
      );
  });
}

/** Take out of the picture what hangs on a twin alone. */
export function collapse(id: string): void {
  const { contents, remove } = usePicture.getState();
  const leaves = listLeaves(contents, id);
  if (leaves.length === 0) {
    useNotices.getState().say(`Nothing hangs on ${id} alone.`);
    return;
  }
  remove(leaves);
}

/** Hide twins until all is shown again. */
export function hideTwins(ids: readonly string[]): void {
  const { hiding, hide, choose } = usePicture.getState();
  hide({ ids: new Set([...hiding.ids, ...ids]) });
  choose([]);
}

/** Look for a way between two twins in the whole graph, and tell it apart. */
export function showPath(graph: GraphClient, from: string, to: string): Promise<void> {
  return saying("Looking for a path", async () => {
    const { contents, add, setPath } = usePicture.getState();
    const { say, sayError } = useNotices.getState();
    let found: { twins: Twin[]; relationships: Relationship[] } | null;
    try {
      found = await readPath(graph, from, to);
    } catch (error) {
      // The picture itself may know a way, where the service cannot tell one.
      const ids = findPath(contents, from, to);
      if (ids === null) throw error;
      setPath(pathOf(ids, contents.edges.values()));
      sayError(error);
      say("The service could not tell a path; this one is the shortest within the picture.");
      return;
    }
    if (found === null) {
      say(`No path of at most ${LONGEST_PATH} relationships leads from ${from} to ${to}.`);
      return;
    }
    add(found.twins, found.relationships);
    setPath({
      nodes: found.twins.map((one) => one.$dtId),
      edges: new Set(found.relationships.map((one) => edgeKey(one.$sourceId, one.$relationshipId))),
    });
  });
}

/** The relationships along these twins, one for each step. */
export function pathOf(ids: readonly string[], relationships: Iterable<Relationship>): Path {
  const all = [...relationships];
  const edges = new Set<string>();
  for (const [at, id] of ids.entries()) {
    const next = ids[at + 1];
    const step = all.find(
      ({ $sourceId, $targetId }) =>
        ($sourceId === id && $targetId === next) || ($sourceId === next && $targetId === id),
    );
    if (step !== undefined) edges.add(edgeKey(step.$sourceId, step.$relationshipId));
  }
  return { nodes: ids, edges };
}
