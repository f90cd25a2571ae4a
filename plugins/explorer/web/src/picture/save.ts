import { toBlob } from "@sigma/export-image";
import type Sigma from "sigma";

import { renderJson } from "../api/json";
import { saveFile } from "../results/download";
import { buildLayoutDocument } from "./document";
import type { Painter } from "./Painter";
import { usePicture } from "./store";

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

/** Save twins, places and relationships as JSON. */
export function saveLayout(): void {
  const { contents, pinned } = usePicture.getState();
  const text = renderJson(buildLayoutDocument(contents, pinned), 1);
  saveFile([text], "graph.json", "application/json");
}
