/** Passes after which what still overlaps is seated one by one. */
const PASSES = 250;
/** Pairs that are compared at most, for each circle: piles of many at one place are seated soon. */
const MOST_PAIRS = 2500;
/** A hair of overlap is none: numbers have an end. */
const TOLERANCE = 1e-6;
const ROWS = 2 ** 26;
const GOLDEN_ANGLE = 2.399963;

/** Circles as flat lists: x and y of each, its radius, and whether it must stay where it is. */
export interface Circles {
  at: Float64Array;
  radii: Float64Array;
  fixed: Uint8Array;
}

/**
 * Moves circles, in place and as little as may be, until no two overlap. Those that are fixed stay,
 * so two of them may go on overlapping.
 */
export function removeOverlaps(circles: Circles): void {
  let left = MOST_PAIRS * circles.radii.length;
  for (let pass = 0; pass < PASSES && left > 0; pass++) {
    const { moved, compared } = pushApart(circles, left);
    if (!moved && compared < left) return;
    left -= compared;
  }
  seatAll(circles);
}

/** Circles by the square of a grid in which their middle lies; a square is two radii wide. */
class Grid {
  // PERF: squares have numbers as keys; two far apart may share one, which only compares more.
  private readonly squares = new Map<number, number[]>();
  private readonly side: number;

  constructor(private readonly circles: Circles) {
    let widest = 0;
    for (const radius of circles.radii) widest = Math.max(widest, radius);
    this.side = Math.max(2 * widest, 1e-9);
  }

  put(one: number): void {
    const { column, row } = this.squareOf(one);
    const key = column * ROWS + row;
    const known = this.squares.get(key);
    if (known === undefined) this.squares.set(key, [one]);
    else known.push(one);
  }

  /** The circles that may overlap one: those of its square and of the eight around. */
  near(one: number): number[] {
    const { column, row } = this.squareOf(one);
    const found: number[] = [];
    for (let x = column - 1; x <= column + 1; x++) {
      for (let y = row - 1; y <= row + 1; y++) {
        for (const other of this.squares.get(x * ROWS + y) ?? []) found.push(other);
      }
    }
    return found;
  }

  private squareOf(one: number): { column: number; row: number } {
    const { at } = this.circles;
    return {
      column: Math.floor((at[2 * one] ?? 0) / this.side),
      row: Math.floor((at[2 * one + 1] ?? 0) / this.side),
    };
  }
}

/** One pass over all pairs that are near: each that overlaps is pushed apart by what it lacks. */
function pushApart(circles: Circles, most: number): { moved: boolean; compared: number } {
  const { radii } = circles;
  const grid = new Grid(circles);
  for (let one = 0; one < radii.length; one++) grid.put(one);
  let [moved, compared] = [false, 0];
  for (let one = 0; one < radii.length && compared < most; one++) {
    for (const other of grid.near(one)) {
      compared += 1;
      if (other > one && push(circles, one, other)) moved = true;
    }
  }
  return { moved, compared };
}

function push({ at, radii, fixed }: Circles, one: number, other: number): boolean {
  if (fixed[one] && fixed[other]) return false;
  const wanted = (radii[one] ?? 0) + (radii[other] ?? 0);
  let x = (at[2 * other] ?? 0) - (at[2 * one] ?? 0);
  let y = (at[2 * other + 1] ?? 0) - (at[2 * one + 1] ?? 0);
  let distance = Math.hypot(x, y);
  if (distance >= wanted * (1 - TOLERANCE)) return false;
  const lacking = (wanted - distance) * 1.01;
  if (distance < wanted * TOLERANCE) {
    // Two at one place part in a direction of their own, the same each time.
    [x, y, distance] = [Math.cos(other * GOLDEN_ANGLE), Math.sin(other * GOLDEN_ANGLE), 1];
  }
  const share = fixed[one] ? 0 : fixed[other] ? 1 : 0.5;
  const [stepX, stepY] = [(x / distance) * lacking, (y / distance) * lacking];
  at[2 * one] = (at[2 * one] ?? 0) - stepX * share;
  at[2 * one + 1] = (at[2 * one + 1] ?? 0) - stepY * share;
  at[2 * other] = (at[2 * other] ?? 0) + stepX * (1 - share);
  at[2 * other + 1] = (at[2 * other + 1] ?? 0) + stepY * (1 - share);
  return true;
}

/** Gives each circle, one after the other, the free place that is nearest to its own. */
function seatAll(circles: Circles): void {
  const { at, radii, fixed } = circles;
  const grid = new Grid(circles);
  for (let one = 0; one < radii.length; one++) if (fixed[one]) grid.put(one);
  for (let one = 0; one < radii.length; one++) {
    if (fixed[one]) continue;
    const [x, y, step] = [at[2 * one] ?? 0, at[2 * one + 1] ?? 0, radii[one] ?? 0];
    for (let turn = 0; !isFree(circles, grid, one); turn++) {
      const away = step * Math.sqrt(turn + 1);
      at[2 * one] = x + away * Math.cos(turn * GOLDEN_ANGLE);
      at[2 * one + 1] = y + away * Math.sin(turn * GOLDEN_ANGLE);
    }
    grid.put(one);
  }
}

function isFree({ at, radii }: Circles, grid: Grid, one: number): boolean {
  for (const other of grid.near(one)) {
    const x = (at[2 * other] ?? 0) - (at[2 * one] ?? 0);
    const y = (at[2 * other + 1] ?? 0) - (at[2 * one + 1] ?? 0);
    const wanted = (radii[one] ?? 0) + (radii[other] ?? 0);
    if (Math.hypot(x, y) < wanted * (1 - TOLERANCE)) return false;
  }
  return true;
}
