import type { Relationship } from "../api/types";
import { places, usePicture, type LayoutKind, type Place } from "./store";

/** The manners in which a model may speak of another, each drawn its own way. */
export type EdgeKind = "extends" | "relationship" | "component";

/** What a drawing is of, as far as it has to know: twins, or anything else of nodes and edges. */
export interface Board {
  /** Where nodes stand, by id. */
  places: Map<string, Place>;
  getState(): BoardState;
  /** Of what kind an edge is; undefined where all are alike. */
  kindOf?(one: Relationship): EdgeKind;
  /** Whether the neighbours of the node under the pointer light up with it. */
  lightsNeighbours?: boolean;
}

/** What one does with the nodes of a drawing. */
export interface BoardState {
  chosen: readonly string[];
  pinned: ReadonlySet<string>;
  layout: LayoutKind;
  choose(ids: readonly string[]): void;
  pin(ids: readonly string[], pinned: boolean): void;
  setLayout(layout: LayoutKind): void;
}

/** The picture of a result. */
export const TWINS: Board = { places, getState: usePicture.getState };
