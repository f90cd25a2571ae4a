import { useMemo } from "react";

import type { Twin } from "../api/types";
import { showText } from "../app/showText";
import { useModels } from "../models/useModels";
import { modelOf } from "../picture/model";
import { dressTwin } from "../picture/style";
import { useStyle } from "../picture/styleStore";

/** A twin as it is drawn on a map, a floor plan or a scene, and as it stands in the list beside. */
export interface DrawnTwin {
  id: string;
  label: string;
  /** What its model is called; empty where the twin is gone. */
  model: string;
  color: string;
  /** The colour of its model, which it has where no rule gives another one. */
  modelColor: string;
  /** Whether there is no such twin (any more). */
  isGone: boolean;
}

/** How these twins are drawn, in this order; null is a twin that is gone, once all were read. */
export function useDrawn(
  twins: ReadonlyMap<string, Twin | null>,
  isSettled = true,
): ReadonlyMap<string, DrawnTwin> {
  const { index } = useModels();
  const style = useStyle((state) => state.style);
  return useMemo(
    () =>
      new Map(
        [...twins].map(([id, twin]) => {
          const { label, color } = dressTwin(id, twin, style, index);
          const model = modelOf(twin);
          const drawn = {
            id,
            label: showText(label),
            color,
            modelColor: index.color(model),
            model: model === "" ? "" : showText(index.label(model)),
            isGone: twin === null && isSettled,
          };
          return [id, drawn];
        }),
      ),
    [twins, isSettled, style, index],
  );
}
