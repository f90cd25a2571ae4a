import { toBlob } from "@sigma/export-image";
import type Sigma from "sigma";

import type { Json } from "../api/types";
import { saveFile } from "../results/download";
import { labelOf, modelOf, type Contents } from "./model";
import type { Painter } from "./Painter";
import { places, usePicture } from "./store";

/** Save what is in view as a PNG, on the ground of the page. */
export async function saveImage(painter: Painter, ground: string): Promise<void> {
  // NOTE: the package is written for graphs of any attributes.
  const sigma = painter.sigma as unknown as Sigma;
  const blob = await toBlob(sigma, {
    format: "png",
    backgroundColor: ground,
    sigmaSettings: { hideEdgesOnMove: false, hideLabelsOnMove: false },
  });
  saveFile([blob], "graph.png", "image/png");
}

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

/** Save twins, places and relationships as JSON. */
export function saveLayout(): void {
  const { contents, pinned } = usePicture.getState();
  const text = JSON.stringify(buildLayoutDocument(contents, pinned), null, 1);
  saveFile([text], "graph.json", "application/json");
}
