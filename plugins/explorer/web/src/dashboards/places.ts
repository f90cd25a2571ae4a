import {
  moveElement,
  verticalCompactor,
  type Layout,
  type LayoutItem,
} from "react-grid-layout/core";

import { COLUMNS, type Place, type Tile } from "./content";

/** The places of tiles as the grid takes them. */
export function layoutOf(tiles: readonly Tile[]): LayoutItem[] {
  return tiles.map(({ id, place, kind }) => ({
    i: id,
    ...place,
    minW: 2,
    minH: kind === "text" ? 1 : 2,
  }));
}

/** The tiles at the places of a layout, in the order in which they are read. */
export function placeTiles(tiles: readonly Tile[], layout: Layout): Tile[] {
  const found = new Map(layout.map(({ i, x, y, w, h }) => [i, { x, y, w, h }]));
  return inOrder(tiles.map((tile) => ({ ...tile, place: found.get(tile.id) ?? tile.place })));
}

/** From above to below, and from left to right: how they stack on a phone, and are walked through. */
export function inOrder(tiles: readonly Tile[]): Tile[] {
  return tiles.toSorted(({ place: one }, { place: other }) => one.y - other.y || one.x - other.x);
}

/** Moves up what has room above it. */
export function compact(tiles: readonly Tile[]): Tile[] {
  return placeTiles(tiles, verticalCompactor.compact(layoutOf(tiles), COLUMNS));
}

/** Where a tile of a size goes: below all others, at the left. */
export function findRoom(tiles: readonly Tile[], size: Pick<Place, "w" | "h">): Place {
  const last = tiles.filter(({ place }) => place.y + place.h === bottomOf(tiles));
  const end = Math.max(0, ...last.map(({ place }) => place.x + place.w));
  const [lowest] = last;
  if (lowest !== undefined && end + size.w <= COLUMNS)
    return { x: end, y: lowest.place.y, ...size };
  return { x: 0, y: bottomOf(tiles), ...size };
}

function bottomOf(tiles: readonly Tile[]): number {
  return Math.max(0, ...tiles.map(({ place }) => place.y + place.h));
}

export interface Step {
  x: number;
  y: number;
}

/** Moves a tile by cells; those in its way give way. A way out of the grid ends at its edge. */
export function moveTile(tiles: readonly Tile[], id: string, step: Step): Tile[] {
  const layout = layoutOf(tiles);
  const item = layout.find(({ i }) => i === id);
  if (item === undefined) return [...tiles];
  const x = Math.min(COLUMNS - item.w, Math.max(0, item.x + step.x));
  // Downwards it has to pass the whole of what is below it, or that would move up and nothing change.
  const below = step.y > 0 ? heightBelow(layout, item) : 1;
  const y = Math.max(0, item.y + step.y * below);
  const moved = moveElement(layout, item, x, y, true, false, "vertical", COLUMNS);
  return placeTiles(tiles, verticalCompactor.compact(moved, COLUMNS));
}

function heightBelow(layout: Layout, item: LayoutItem): number {
  const touching = layout.filter(
    ({ i, x, y, w }) =>
      i !== item.i && y === item.y + item.h && x < item.x + item.w && item.x < x + w,
  );
  return Math.max(1, Math.min(...touching.map(({ h }) => h)));
}

/** Makes a tile larger or smaller by cells. */
export function resizeTile(tiles: readonly Tile[], id: string, step: Step): Tile[] {
  const grown = tiles.map((tile): Tile => {
    if (tile.id !== id) return tile;
    const { place } = tile;
    const [least] = layoutOf([tile]);
    const w = Math.min(COLUMNS - place.x, Math.max(least?.minW ?? 1, place.w + step.x));
    const h = Math.max(least?.minH ?? 1, place.h + step.y);
    return { ...tile, place: { ...place, w, h } };
  });
  const layout = layoutOf(grown);
  const item = layout.find(({ i }) => i === id);
  if (item === undefined) return grown;
  // What it has grown over gives way, as if it had been moved to where it is.
  item.y += 1;
  const moved = moveElement(layout, item, item.x, item.y - 1, true, false, "vertical", COLUMNS);
  return placeTiles(grown, verticalCompactor.compact(moved, COLUMNS));
}

/** Exchanges a tile with the one before or behind it, where they stand below each other. */
export function exchange(tiles: readonly Tile[], id: string, by: 1 | -1): Tile[] {
  const all = inOrder(tiles);
  const at = all.findIndex((tile) => tile.id === id);
  const [one, other] = [all[at], all[at + by]];
  if (one === undefined || other === undefined) return all;
  const fit = (tile: Tile, { x, y }: Place): Tile => ({
    ...tile,
    place: { ...tile.place, x: Math.min(x, COLUMNS - tile.place.w), y },
  });
  const changed = all.map((tile) =>
    tile === one ? fit(one, other.place) : tile === other ? fit(other, one.place) : tile,
  );
  return compact(changed);
}
