import { create } from "zustand";

import type { SavedNode } from "./document";
import type { Hiding } from "./visible";

/** A twin of a saved picture; one that was not laid out yet has no place. */
export type RestoredTwin = SavedNode | { id: string; x: null; y: null; pinned: false };

/** A picture that was saved, to be made of the rows that come next and what is read besides. */
export interface Restored {
  /** All its twins; those that the rows do not have are read. */
  twins: readonly RestoredTwin[];
  /** What was taken out of the rows. */
  removed: readonly string[];
  hiding: Hiding;
}

interface RestoreState {
  /** What is to be restored, from when it is asked for until all of it is drawn; null is nothing. */
  restored: Restored | null;
  /** Whether the rows have come, so that the rest of it is being read. */
  isDrawing: boolean;
  /** How many pictures were restored, for who waits for one. */
  number: number;
}

/** The saved picture that is on its way. Rows that come as a table leave it until they are drawn. */
export const useRestore = create<RestoreState>(() => ({
  restored: null,
  isDrawing: false,
  number: 0,
}));

export function restorePicture(restored: Restored | null): void {
  useRestore.setState({ restored, isDrawing: false });
}

/** The saved picture, for who draws the rows that come next; null where there is none. */
export function claimRestored(): Restored | null {
  const { restored, isDrawing } = useRestore.getState();
  if (restored === null || isDrawing) return null;
  useRestore.setState({ isDrawing: true });
  return restored;
}

/** It is drawn, as far as it could be. */
export function finishRestored(restored: Restored): void {
  useRestore.setState((state) =>
    state.restored === restored
      ? { restored: null, isDrawing: false, number: state.number + 1 }
      : state,
  );
}
