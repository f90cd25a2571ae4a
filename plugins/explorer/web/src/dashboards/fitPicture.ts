import type { RestoredTwin } from "../picture/restore";
import type { Size } from "./useSize";

/** What is left free around a picture, in pixels: room for half a circle and a word. */
const MARGIN = 18;

export interface Point {
  x: number;
  y: number;
}

/** Where twins are in a tile of this size, in pixels; those without a place are left out. */
export function fitPicture(
  twins: readonly RestoredTwin[],
  { width, height }: Size,
): Map<string, Point> {
  const placed = twins.flatMap(({ id, x, y }) => (x === null ? [] : [{ id, x, y }]));
  if (placed.length === 0) return new Map();
  const [xs, ys] = [placed.map((one) => one.x), placed.map((one) => one.y)];
  const [left, right, low, high] = [least(xs), most(xs), least(ys), most(ys)];
  const room = { x: Math.max(1, width - 2 * MARGIN), y: Math.max(1, height - 2 * MARGIN) };
  const scale = Math.min(room.x / (right - left || 1), room.y / (high - low || 1));
  return new Map(
    placed.map(({ id, x, y }) => [
      id,
      {
        x: width / 2 + (x - (left + right) / 2) * scale,
        // NOTE: places of pictures go upwards, pixels downwards.
        y: height / 2 - (y - (low + high) / 2) * scale,
      },
    ]),
  );
}

// Not `Math.min(...)`: a picture may have more twins than a call takes arguments.
function least(values: readonly number[]): number {
  return values.reduce((one, other) => Math.min(one, other));
}

function most(values: readonly number[]): number {
  return values.reduce((one, other) => Math.max(one, other));
}
