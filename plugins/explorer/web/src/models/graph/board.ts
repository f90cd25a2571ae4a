import { create } from "zustand";

import type { Board, BoardState, EdgeKind } from "../../picture/board";
import { changePins, type Place } from "../../picture/pins";
import { kindOf } from "./ties";

interface ModelPicture extends BoardState {
  /** The kinds of edges that are not to be seen. */
  hidden: ReadonlySet<EdgeKind>;
  hide(kinds: ReadonlySet<EdgeKind>): void;
}

/** What one did with the picture of models; it is so again when one comes back. */
export const useModelPicture = create<ModelPicture>((set, get) => ({
  chosen: [],
  pinned: new Set(),
  layout: "force",
  hidden: new Set(),
  choose: (chosen) => set({ chosen }),
  pin: (ids, pinned) => set({ pinned: changePins(get().pinned, ids, pinned) }),
  setLayout: (layout) => set({ layout }),
  hide: (hidden) => set({ hidden }),
}));

export const MODELS: Board = {
  places: new Map<string, Place>(),
  getState: useModelPicture.getState,
  kindOf,
  lightsNeighbours: true,
};
