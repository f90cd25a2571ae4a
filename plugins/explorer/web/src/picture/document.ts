import { isGraphText } from "../data/graphFile";
import { parseJson, renderJson } from "../api/json";
import type { Json } from "../api/types";
import { labelOf, modelOf, type Contents } from "./model";
import { places } from "./store";

/** The picture as data: nodes with their places, edges by name. */
export function buildLayoutDocument(contents: Contents, pinned: ReadonlySet<string>): Json {
  return {
    nodes: [...contents.nodes].map(([id, twin]) => {
      const place = places.get(id);
      return {
        id,
        label: labelOf(id, twin),
        model: modelOf(twin),
        x: place?.x ?? null,
        y: place?.y ?? null,
        pinned: pinned.has(id),
      };
    }),
    edges: [...contents.edges.values()].map((one) => ({
      id: one.$relationshipId,
      name: one.$relationshipName,
      source: one.$sourceId,
      target: one.$targetId,
    })),
  };
}

/** Where a twin stood in a picture that was saved. */
export interface SavedNode {
  id: string;
  x: number;
  y: number;
  pinned: boolean;
}

const WANTED = "A picture saved as “Twins and places (JSON)” is wanted.";

/** The nodes of such a document that have a place. Fails with what is wrong in it, and where. */
export function readLayoutDocument(text: string, name: string): SavedNode[] {
  if (isGraphText(text)) {
    throw new Error(`${name} is a graph, which is imported under Data. ${WANTED}`);
  }
  let document: unknown;
  try {
    document = parseJson(text);
  } catch (error) {
    throw new Error(`${name} is no JSON (${(error as Error).message}). ${WANTED}`, {
      cause: error,
    });
  }
  const nodes = (document as { nodes?: unknown } | null)?.nodes;
  if (!Array.isArray(nodes)) throw new Error(`${name} has no list of \`nodes\`. ${WANTED}`);
  return nodes.flatMap((node: unknown, at) => {
    const { id, x, y, pinned } = (node ?? {}) as Partial<Record<keyof SavedNode, unknown>>;
    const where = `${name}: \`nodes[${at}]\``;
    if (typeof id !== "string") throw new Error(`${where} has no \`id\` that is a text. ${WANTED}`);
    // What was not laid out yet was saved without a place.
    if (x === null && y === null) return [];
    for (const [axis, value] of [
      ["x", x],
      ["y", y],
    ] as const) {
      if (typeof value === "number" && Number.isFinite(value)) continue;
      const told = value === undefined ? "missing" : renderJson(value as Json);
      throw new Error(`${where} (${id}): \`${axis}\` has to be a number; it is ${told}.`);
    }
    return [{ id, x: x as number, y: y as number, pinned: pinned === true }];
  });
}
