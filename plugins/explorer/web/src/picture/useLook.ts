import { useMemo } from "react";

import { useMedia } from "../app/media";
import { usePreferences } from "../app/preferences";
import { useSelection } from "../app/selection";
import { useLive } from "../live/store";
import type { Action } from "../time/differences";
import { useDrawing } from "./drawing";
import { readLimits } from "./limits";
import type { Look } from "./look";
import { edgeKey, type Contents } from "./model";
import { readPalette, type Palette } from "./palette";
import { usePicture } from "./store";
import type { Visible } from "./visible";

const NONE: ReadonlySet<string> = new Set();

/** The colours of the theme that is worn now. */
export function usePalette(): Palette {
  const theme = usePreferences((state) => state.theme);
  const dark = useMedia("(prefers-color-scheme: dark)");
  // NOTE: the page's theme and the system's are what the colours hang on, though unnamed there.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  return useMemo(() => readPalette(document.body), [theme, dark]);
}

/** What of the picture is told apart now, but for what the pointer is at. */
export function useLook(
  contents: Contents,
  visible: Visible,
  marked: ReadonlySet<string> | null,
  palette: Palette,
  changed: ReadonlyMap<string, Action> | null,
): Look {
  const { chosen, path, pinned } = usePicture();
  const selected = useSelection((state) => state.selected);
  const all = useLive((state) => state.lit);
  const lit = useMemo(() => {
    const here = [...all.keys()].filter(
      (key) => contents.nodes.has(key) || contents.edges.has(key),
    );
    return here.length === 0 ? NONE : new Set(here);
  }, [all, contents]);
  const from = useDrawing((state) => state.line?.source ?? null);
  const chosenEdge =
    selected?.kind === "relationship" ? edgeKey(selected.sourceId, selected.id) : null;
  return useMemo(
    () => ({
      visibleNodes: visible.nodes,
      visibleEdges: visible.edges,
      chosen: new Set(chosen),
      chosenEdge,
      path: path === null ? null : { nodes: new Set(path.nodes), edges: path.edges },
      marked,
      changed,
      pinned,
      lit,
      near: null,
      beside: NONE,
      from,
      large: isLarge(visible),
      palette,
    }),
    [visible, chosen, chosenEdge, path, marked, changed, pinned, lit, from, palette],
  );
}

/** Whether so much is seen that each is drawn the cheap way. */
export function isLarge(visible: Visible): boolean {
  const limits = readLimits();
  return visible.nodes.size > limits.nodes || visible.edges.size > limits.edges;
}
