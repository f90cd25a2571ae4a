import { useEffect, useMemo } from "react";

import { useContainment } from "../locations/useContainment";
import { foldContents, listAround, MOST_UNFOLDED, type Folding } from "./folding";
import type { Contents } from "./model";
import { usePicture } from "./store";
import type { Visible } from "./visible";

/** How a picture of too many twins is folded; null where all that is to be seen is drawn. */
export function useFolding(contents: Contents, visible: Visible): Folding | null {
  const { folds, opened, chosen, path, unfold } = usePicture();
  const { containment } = useContainment();
  const isFolded = folds && visible.nodes.size > MOST_UNFOLDED;
  const folding = useMemo(
    () => (isFolded ? foldContents(contents, visible, containment, opened) : null),
    [isFolded, contents, visible, containment, opened],
  );
  // What is chosen elsewhere, or is on the way that was looked for, is drawn itself.
  useEffect(() => {
    if (folding === null) return;
    const around = listAround(folding, [...chosen, ...(path?.nodes ?? [])]);
    if (around.length > 0) unfold(around);
  }, [folding, chosen, path, unfold]);
  return folding;
}
