import { create } from "zustand";

import type { JsonObject, Relationship, Twin } from "../api/types";
import type { Keeper } from "../query/storage";
import { useResults } from "../results/store";
import { addTo, EMPTY, removeFrom, type Contents } from "./model";
import { changePins, Pins, type LayoutKind, type Place } from "./pins";
import type { SavedNode } from "./document";
import type { RestoredTwin } from "./restore";
import type { Hiding } from "./visible";

export type { LayoutKind, Place };

/** A way that was found: twins in order, and the keys of the relationships between them. */
export interface Path {
  nodes: readonly string[];
  edges: ReadonlySet<string>;
}

interface PictureState {
  contents: Contents;
  hiding: Hiding;
  /** The twins that are chosen, in order: one is shown in the inspector, two have a path. */
  chosen: readonly string[];
  path: Path | null;
  pinned: ReadonlySet<string>;
  layout: LayoutKind;
  /** Whether the picture has the whole window. */
  whole: boolean;
  /** Whether the next query is laid over the picture rather than drawn in its place. */
  overlays: boolean;
  /** The twins of the query that is laid over the picture; null is none. */
  overlay: ReadonlySet<string> | null;
  /** Whether the filter tells twins apart rather than hiding the others. */
  highlights: boolean;
  /** Whether a picture of too many twins is folded, and what was opened in it, or folded again. */
  folds: boolean;
  opened: ReadonlyMap<string, boolean>;
  /** The rows that are pictured already. */
  rows: readonly JsonObject[];
  /** Take up what this browser remembers of the pictures of a graph: the layout and the pins. */
  open(keeper: Keeper): void;
  /** From now on these stand where a saved picture has them, whatever this browser remembers. */
  place(twins: readonly RestoredTwin[]): void;
  /** Picture these and nothing else. */
  show(twins: readonly Twin[], relationships: readonly Relationship[]): void;
  /** Picture these instead; what is still there stays where it is, and as it is. */
  renew(twins: readonly Twin[], relationships: readonly Relationship[]): void;
  add(twins: readonly Twin[], relationships: readonly Relationship[]): void;
  /** Take twins out of the picture, and relationships by their `edgeKey`; the graph keeps them. */
  remove(ids: readonly string[], keys?: readonly string[]): void;
  clear(): void;
  takeRows(rows: readonly JsonObject[]): void;
  hide(part: Partial<Hiding>): void;
  choose(ids: readonly string[]): void;
  pin(ids: readonly string[], pinned: boolean): void;
  setPath(path: Path | null): void;
  setLayout(layout: LayoutKind): void;
  setWhole(whole: boolean): void;
  /** Lay the next queries over the picture, or no longer. */
  setOverlays(overlays: boolean): void;
  setOverlay(overlay: ReadonlySet<string>): void;
  setHighlights(highlights: boolean): void;
  setFolds(folds: boolean): void;
  /** Draw what is in these twins in a folded picture. */
  unfold(ids: readonly string[]): void;
  /** Draw one twin for all that is in it again. */
  fold(id: string): void;
}

export const NOTHING_HIDDEN: Hiding = {
  models: new Set(),
  names: new Set(),
  ids: new Set(),
  filter: "",
  facets: [],
  draft: null,
  focus: null,
};

/**
 * Where nodes stand, by id, in the units of the layout. Beside the store, as it changes with every
 * step of a layout, and outlives the view: who comes back finds the picture as it was.
 */
export const places = new Map<string, Place>();

const pins = new Pins();

/** Where a saved picture has its twins: it goes before the pins of this browser. */
let given: ReadonlyMap<string, SavedNode> = new Map();

/** Twins that were pinned once come back to their places; those that have one already stay. */
function restorePins(contents: Contents, before: ReadonlySet<string>): ReadonlySet<string> {
  const pinned = new Set(before);
  for (const id of contents.nodes.keys()) {
    if (places.has(id)) continue;
    const saved = given.get(id);
    const place = saved ?? pins.of(id);
    if (place === undefined) continue;
    places.set(id, { x: place.x, y: place.y });
    if (saved?.pinned ?? true) pinned.add(id);
  }
  return pinned.size === before.size ? before : pinned;
}

const START = {
  contents: EMPTY,
  hiding: NOTHING_HIDDEN,
  chosen: [] as readonly string[],
  path: null,
  pinned: new Set<string>() as ReadonlySet<string>,
  folds: true,
  opened: new Map<string, boolean>() as ReadonlyMap<string, boolean>,
};

/** What is pictured, and how. Its drawing is `Canvas`; this knows none, so that all may import it. */
export const usePicture = create<PictureState>((set, get) => ({
  ...START,
  layout: "force",
  whole: false,
  overlays: false,
  overlay: null,
  highlights: false,
  rows: [],
  open: (keeper) => {
    if (!pins.open(keeper)) return;
    const { contents, pinned } = get();
    set({ layout: pins.layout, pinned: restorePins(contents, pinned) });
  },
  place: (twins) => {
    const placed = twins.filter((one): one is SavedNode => one.x !== null);
    given = new Map(placed.map((one) => [one.id, one]));
  },
  show: (twins, relationships) => {
    places.clear();
    const { rows } = useResults.getState();
    const contents = addTo(EMPTY, twins, relationships);
    set({ ...START, contents, pinned: restorePins(contents, START.pinned), rows });
  },
  renew: (twins, relationships) => {
    const contents = addTo(EMPTY, twins, relationships);
    const { chosen, pinned } = get();
    const here = (id: string): boolean => contents.nodes.has(id);
    // NOTE: places of what is not there now stay: it may be there again at the next moment.
    set({
      contents,
      chosen: chosen.filter(here),
      pinned: restorePins(contents, new Set([...pinned].filter(here))),
      path: null,
    });
  },
  add: (twins, relationships) => {
    const contents = addTo(get().contents, twins, relationships);
    set({ contents, pinned: restorePins(contents, get().pinned) });
  },
  remove: (ids, keys = []) => {
    const gone = new Set(ids);
    for (const id of ids) places.delete(id);
    set(({ contents, chosen, pinned, path }) => ({
      contents: removeFrom(contents, gone, new Set(keys)),
      chosen: chosen.filter((id) => !gone.has(id)),
      pinned: new Set([...pinned].filter((id) => !gone.has(id))),
      path:
        path?.nodes.some((id) => gone.has(id)) || keys.some((key) => path?.edges.has(key))
          ? null
          : path,
    }));
  },
  clear: () => {
    places.clear();
    set({ ...START });
  },
  takeRows: (rows) => set({ rows }),
  hide: (part) => set(({ hiding }) => ({ hiding: { ...hiding, ...part } })),
  choose: (chosen) => set({ chosen }),
  pin: (ids, pinned) => {
    set({ pinned: changePins(get().pinned, ids, pinned) });
    pins.keep(new Map(ids.map((id) => [id, pinned ? (places.get(id) ?? null) : null])));
  },
  setPath: (path) => set({ path }),
  setWhole: (whole) => set({ whole }),
  setOverlays: (overlays) => set({ overlays, overlay: null }),
  setOverlay: (overlay) => set({ overlay }),
  setHighlights: (highlights) => set({ highlights }),
  setFolds: (folds) => set({ folds, opened: new Map() }),
  unfold: (ids) =>
    set(({ opened }) => ({
      opened: new Map([...opened, ...ids.map((id) => [id, true] as const)]),
    })),
  fold: (id) => set(({ opened }) => ({ opened: new Map(opened).set(id, false) })),
  setLayout: (layout) => {
    set({ layout });
    pins.keepLayout(layout);
  },
}));
