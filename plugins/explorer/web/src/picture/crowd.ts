/** A rectangle on the screen, in pixels. */
export interface Rectangle {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Side of the squares by which rectangles are found again. */
const SQUARE = 80;
/** Squares have numbers as keys; two far apart may share one, which only compares more. */
const ROWS = 2 ** 16;

/** What takes room on the screen: it tells whether another rectangle would cover some of it. */
export class Crowd {
  private readonly squares = new Map<number, Rectangle[]>();

  add(one: Rectangle): void {
    for (const square of listSquares(one)) {
      const known = this.squares.get(square);
      if (known === undefined) this.squares.set(square, [one]);
      else known.push(one);
    }
  }

  /** Whether it would cover some of what is here. */
  meets(wanted: Rectangle): boolean {
    return listSquares(wanted).some((square) =>
      this.squares.get(square)?.some((one) => cover(one, wanted)),
    );
  }

  /** Takes this room; false if another has some of it. */
  take(wanted: Rectangle): boolean {
    if (this.meets(wanted)) return false;
    this.add(wanted);
    return true;
  }
}

function cover(one: Rectangle, other: Rectangle): boolean {
  return (
    one.left < other.right &&
    other.left < one.right &&
    one.top < other.bottom &&
    other.top < one.bottom
  );
}

function listSquares({ left, top, right, bottom }: Rectangle): number[] {
  const found: number[] = [];
  for (let x = Math.floor(left / SQUARE); x <= Math.floor(right / SQUARE); x++) {
    for (let y = Math.floor(top / SQUARE); y <= Math.floor(bottom / SQUARE); y++) {
      found.push(x * ROWS + y);
    }
  }
  return found;
}
