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
