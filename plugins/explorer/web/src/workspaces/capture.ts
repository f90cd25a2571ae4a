import { readParameters } from "../query/parameters";
import { useQueries } from "../query/store";
import { collectDocuments } from "../results/documents";
import { useResults } from "../results/store";
import { useRestore, type RestoredTwin } from "../picture/restore";
import { places, usePicture } from "../picture/store";
import { useStyle } from "../picture/styleStore";
import { renderJson } from "../api/json";
import type { PictureContent } from "./content";

/** What is looked at now, as a workspace keeps it. */
export function capturePicture(): PictureContent {
  const { query, parameters, view } = useResults.getState();
  const { text, parameters: written } = useQueries.getState();
  const { layout, overlays, highlights } = usePicture.getState();
  const { value } = readParameters(written);
  const isDrafted =
    text !== query || renderJson(value ?? {}) !== renderJson(parameters) || value === null;
  return {
    query,
    parameters,
    draft: isDrafted ? { text, parameters: written } : null,
    view: view === "plan" ? "table" : view,
    layout,
    overlays,
    highlights,
    ...captureTwins(),
    style: useStyle.getState().style,
  };
}

/** Its twins, and what of the rows was taken out. */
function captureTwins(): Pick<PictureContent, "twins" | "removed" | "hiding"> {
  const { restored } = useRestore.getState();
  // What is not drawn yet is as it was saved.
  if (restored !== null) return restored;
  const { contents, pinned, hiding, rows: drawn, overlays } = usePicture.getState();
  const { rows } = useResults.getState();
  // Of other rows than are there now: the picture begins anew when they are drawn.
  if (drawn !== rows && (drawn.length > 0 || rows.length > 0)) {
    return { twins: [], removed: [], hiding };
  }
  const twins = [...contents.nodes.keys()].map((id): RestoredTwin => {
    const place = places.get(id);
    if (place === undefined) return { id, x: null, y: null, pinned: false };
    return { id, x: place.x, y: place.y, pinned: pinned.has(id) };
  });
  return {
    twins,
    removed: overlays || contents.left.nodes > 0 ? [] : listRemoved(),
    hiding: { ...hiding, draft: null },
  };
}

function listRemoved(): string[] {
  const { contents, rows } = usePicture.getState();
  const { twins, relationships } = collectDocuments([...rows]);
  const ends = relationships.flatMap((one) => [one.$sourceId, one.$targetId]);
  const all = new Set([...twins.map((one) => one.$dtId), ...ends]);
  return [...all].filter((id) => !contents.nodes.has(id));
}
