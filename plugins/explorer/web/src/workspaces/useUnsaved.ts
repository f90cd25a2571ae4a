import { useFill } from "../picture/fill";
import { useRestore } from "../picture/restore";
import { usePicture } from "../picture/store";
import { useStyle } from "../picture/styleStore";
import { useQueries } from "../query/store";
import { useResults } from "../results/store";
import { isUnsaved, useOpened } from "./store";

/** Whether the open workspace has changes that are not saved. */
export function useUnsaved(): boolean {
  // What is compared is read from the stores; these are called to hear that it may be otherwise.
  useOpened((state) => state.base);
  usePicture();
  useQueries();
  useStyle((state) => state.style);
  useResults((state) => state.query);
  const isDrawing = useRestore((state) => state.isDrawing);
  const running = useResults((state) => state.running);
  const busy = useFill((state) => state.busy);
  return !isDrawing && !running && busy === null && isUnsaved();
}
