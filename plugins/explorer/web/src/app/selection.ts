import { create } from "zustand";

/** What the inspector shows. */
export type Selected =
  | { kind: "twin"; id: string }
  | { kind: "relationship"; sourceId: string; id: string }
  | { kind: "model"; id: string };

interface SelectionState {
  selected: Selected | null;
  select(selected: Selected | null): void;
}

/** The one selection of the page: table, picture, tree and inspector share it. */
export const useSelection = create<SelectionState>((set) => ({
  selected: null,
  select: (selected) => set({ selected }),
}));
