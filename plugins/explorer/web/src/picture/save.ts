import Sigma from "sigma";

import { renderJson } from "../api/json";
import { saveFile } from "../results/download";
import { buildLayoutDocument } from "./document";
import type { Painter } from "./Painter";
import { usePicture } from "./store";

/** Save what is in view as a PNG, on the ground of the page. */
export async function saveImage(
  painter: Painter,
  ground: string,
  name = "graph.png",
): Promise<void> {
  saveFile([await renderImage(painter, ground)], name, "image/png");
}

/** What is in view as a PNG. What WebGL drew is gone by now, so it is drawn once more, unseen. */
async function renderImage(
  { graph, sigma, labels, loops }: Painter,
  ground: string,
): Promise<Blob> {
  const { width, height } = sigma.getDimensions();
  const host = document.createElement("div");
  Object.assign(host.style, {
    position: "absolute",
    right: "101%",
    bottom: "101%",
    width: `${width}px`,
    height: `${height}px`,
  });
  document.body.append(host);
  const settings = { ...sigma.getSettings(), hideEdgesOnMove: false, hideLabelsOnMove: false };
  const again = new Sigma(graph, host, settings);
  try {
    again.getCamera().setState(sigma.getCamera().getState());
    again.setCustomBBox(sigma.getCustomBBox());
    labels.watch(again);
    loops.watch(again, labels);
    again.refresh();
    return await mergeLayers(Object.values(again.getCanvases()), ground);
  } finally {
    again.kill();
    host.remove();
  }
}

function mergeLayers(layers: readonly HTMLCanvasElement[], ground: string): Promise<Blob> {
  const image = document.createElement("canvas");
  image.width = Math.max(1, ...layers.map((one) => one.width));
  image.height = Math.max(1, ...layers.map((one) => one.height));
  const context = image.getContext("2d");
  if (context === null) throw new Error("The browser gave no canvas to draw the image on.");
  context.fillStyle = ground;
  context.fillRect(0, 0, image.width, image.height);
  for (const one of layers) context.drawImage(one, 0, 0, image.width, image.height);
  return new Promise((resolve, reject) => {
    image.toBlob((blob) => {
      if (blob !== null) resolve(blob);
      else reject(new Error("The browser could not make an image of a picture of this size."));
    }, "image/png");
  });
}

/** Save twins, places and relationships as JSON. */
export function saveLayout(): void {
  const { contents, pinned } = usePicture.getState();
  const text = renderJson(buildLayoutDocument(contents, pinned), 1);
  saveFile([text], "graph.json", "application/json");
}
