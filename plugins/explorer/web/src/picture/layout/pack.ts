/** A part of the picture as a box, in the units of the layout. */
export interface Box {
  width: number;
  height: number;
}

/** What the picture is drawn in, in pixels. */
export type View = Box;

/** How many units a pixel shows where all of a picture of this size is in view, as sigma fits it. */
export function measureScale({ width, height }: Box, view: View): number {
  const least = Math.min(view.width, view.height);
  const most = Math.max(view.width, view.height);
  const larger = Math.max(width, height);
  if (least <= 0 || larger <= 0) return 0;
  // A broad picture in a broad view may use its breadth; else the short side has to do.
  const alike = view.width >= view.height === width >= height;
  const stretch = alike
    ? Math.min(larger / Math.max(Math.min(width, height), 1e-9), most / least)
    : 1;
  return larger / (least * stretch);
}

const WIDTHS = [0.7, 0.85, 1, 1.15, 1.3, 1.6, 2];

/** Where boxes stand beside each other without overlapping, so that they fill a view well. */
export function packBoxes(boxes: readonly Box[], view: View): { x: number; y: number }[] {
  const area = boxes.reduce((sum, { width, height }) => sum + width * height, 0);
  const side = Math.sqrt((area * view.width) / Math.max(1, view.height));
  const widest = boxes.reduce((most, { width }) => Math.max(most, width), 0);
  const tries = [...new Set(WIDTHS.map((factor) => Math.max(widest, side * factor)))].map((width) =>
    packInto(boxes, width),
  );
  let best = tries[0];
  for (const one of tries) {
    if (measureScale(one, view) < measureScale(best ?? one, view)) best = one;
  }
  return best?.places ?? [];
}

/** A stretch of the skyline: between these all is taken up to `top`. */
interface Stretch {
  from: number;
  to: number;
  top: number;
}

/** The tallest first, each where the skyline of those before is the lowest. */
function packInto(
  boxes: readonly Box[],
  limit: number,
): Box & { places: { x: number; y: number }[] } {
  const places = boxes.map(() => ({ x: 0, y: 0 }));
  const order = boxes
    .map((box, at) => ({ ...box, at }))
    .sort((one, other) => other.height - one.height || other.width - one.width);
  let line: readonly Stretch[] = [{ from: 0, to: limit, top: 0 }];
  let [width, height] = [0, 0];
  for (const box of order) {
    const { from, to, top } = findRoom(line, box.width, limit);
    places[box.at] = { x: from, y: top };
    line = [
      ...line.filter((one) => one.from < from),
      { from, to, top: top + box.height },
      ...line.flatMap((one) => (one.to > to ? [{ ...one, from: Math.max(one.from, to) }] : [])),
    ];
    width = Math.max(width, to);
    height = Math.max(height, top + box.height);
  }
  return { width, height, places };
}

/** Where a box of this width can be let down the deepest: always where a stretch begins. */
function findRoom(line: readonly Stretch[], width: number, limit: number): Stretch {
  let best: Stretch = { from: 0, to: width, top: Infinity };
  for (const { from } of line) {
    const to = from + width;
    // NOTE: sums of widths miss the limit by a hair.
    if (from > 0 && to > limit * (1 + 1e-9)) break;
    let top = 0;
    for (const one of line) {
      if (one.to > from && one.from < to) top = Math.max(top, one.top);
    }
    if (top < best.top) best = { from, to, top };
  }
  return best;
}
