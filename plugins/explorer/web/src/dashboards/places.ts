import {
  getAllCollisions,
  verticalCompactor,
  type Layout,
  type LayoutItem,
} from "react-grid-layout/core";

import { COLUMNS, TALLEST, type Place, type Tile } from "./content";

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

/**
 * Moves a tile by a cell sideways, or past the whole of what is above or below it: what is below
 * moves up, so that less would change nothing. A way out of the grid ends at its edge.
 */
export function moveTile(tiles: readonly Tile[], id: string, step: Step): Tile[] {
  const layout = layoutOf(tiles);
  const item = layout.find(({ i }) => i === id);
  if (item === undefined) return [...tiles];
  item.x = Math.min(COLUMNS - item.w, Math.max(0, item.x + step.x));
  const beside = layout.filter(
    (one) => one !== item && one.x < item.x + item.w && item.x < one.x + one.w,
  );
  const above = beside.filter((one) => one.y + one.h === item.y);
  const below = beside.filter((one) => one.y === item.y + item.h);
  if (step.y < 0 && above.length > 0) item.y = Math.min(...above.map((one) => one.y));
  if (step.y > 0 && below.length > 0) item.y = Math.min(...below.map((one) => one.y + one.h));
  return giveWay(tiles, layout, item);
}

/** Makes a tile larger or smaller by cells. */
export function resizeTile(tiles: readonly Tile[], id: string, step: Step): Tile[] {
  const layout = layoutOf(tiles);
  const item = layout.find(({ i }) => i === id);
  if (item === undefined) return [...tiles];
  item.w = Math.min(COLUMNS - item.x, Math.max(item.minW ?? 1, item.w + step.x));
  item.h = Math.min(TALLEST, Math.max(item.minH ?? 1, item.h + step.y));
  return giveWay(tiles, layout, item);
}

/** What a tile lies over goes below it, and all move up as far as there is room. */
function giveWay(tiles: readonly Tile[], layout: LayoutItem[], item: LayoutItem): Tile[] {
  for (const one of getAllCollisions(layout, item)) {
    const other = layout.find(({ i }) => i === one.i);
    if (other !== undefined) other.y = item.y + item.h;
  }
  return placeTiles(tiles, verticalCompactor.compact(layout, COLUMNS));
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
