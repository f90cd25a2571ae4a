import Sigma from "sigma";

import type { GraphClient } from "../api/graph";
import { renderJson } from "../api/json";
import { buildGraphFile, renderPlainRelationship, renderPlainTwin } from "../data/graphFile";
import { tellCounts } from "../data/numbers";
import type { ModelIndex } from "../models/index";
import { saveFile } from "../results/download";
import { readBetween, readTwins } from "./ask";
import { buildLayoutDocument } from "./document";
import { MOST_EDGES, modelOf } from "./model";
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
  saveFile([text], "picture.json", "application/json");
}

/**
 * Save twins with all that they have, the relationships between them, save those of hidden names,
 * and the models that they need, as a file that an import takes. Answers what is in it.
 */
export async function saveGraph(
  graph: GraphClient,
  ids: readonly string[],
  hidden: ReadonlySet<string>,
  index: ModelIndex,
): Promise<string> {
  const twins = await readTwins(graph, ids);
  const between = await readBetween(graph, ids, ids, MOST_EDGES);
  if (between.more) {
    throw new Error(
      `${MOST_EDGES.toLocaleString()} relationships or more are between these twins: too many for ` +
        "one file. Show fewer twins, or export the whole graph under Data.",
    );
  }
  const relationships = between.relationships.filter((one) => !hidden.has(one.$relationshipName));
  const models = index.withNeeds(twins.map(modelOf));
  const file = buildGraphFile({
    models: models.map((one) => renderJson(one.document)),
    twins: twins.map(renderPlainTwin),
    relationships: relationships.map(renderPlainRelationship),
  });
  saveFile([file], "graph.json", "application/json");
  return tellCounts([
    [models.length, "models"],
    [twins.length, "twins"],
    [relationships.length, "relationships"],
  ]);
}
