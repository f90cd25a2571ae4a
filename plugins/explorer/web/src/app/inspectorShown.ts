import { create } from "zustand";

import { useResults } from "../results/store";
import { usePreferences } from "./preferences";
import { useSelection } from "./selection";

/** Whether somebody wants the inspector beside a result although nothing is selected. */
const useAsked = create<{ asked: boolean }>(() => ({ asked: false }));

/** Shows the inspector, or puts it out of the way, as somebody says. */
export function setInspectorShown(shown: boolean): void {
  usePreferences.getState().setInspectorOpen(shown);
  useAsked.setState({ asked: shown });
}

/** Whether the inspector is beside the view: one with nothing in it leaves its room to a result. */
export function useInspectorShown(pictures = false): boolean {
  const open = usePreferences((state) => state.inspectorOpen);
  const asked = useAsked((state) => state.asked);
  const empty = useSelection((state) => state.selected === null);
  const hasResult = useResults((state) => state.rows.length > 0);
  return open && (asked || !empty || !(pictures || hasResult));
}
