/** A rectangle on the screen, in pixels. */
export interface Rectangle {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Side of the squares by which rectangles are found again. */
const SQUARE = 80;

/** The labels that are drawn in a frame already: another one is, only if it covers none of them. */
export class Crowd {
  private readonly squares = new Map<string, Rectangle[]>();
  private readonly keys = new Set<string>();

  /** A frame begins. */
  clear(): void {
    this.squares.clear();
    this.keys.clear();
  }

  /** Takes the room for what has this key; false if another has some of it. */
  take(key: string, wanted: Rectangle): boolean {
    // Who is drawn again is drawn in another frame, though nobody said that one began.
    if (this.keys.has(key)) this.clear();
    this.keys.add(key);
    const squares = listSquares(wanted);
    const isTaken = squares.some((square) =>
      this.squares.get(square)?.some((one) => cover(one, wanted)),
    );
    if (isTaken) return false;
    for (const square of squares) {
      const known = this.squares.get(square);
      if (known === undefined) this.squares.set(square, [wanted]);
      else known.push(wanted);
    }
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

function listSquares({ left, top, right, bottom }: Rectangle): string[] {
  const found: string[] = [];
  for (let x = Math.floor(left / SQUARE); x <= Math.floor(right / SQUARE); x++) {
    for (let y = Math.floor(top / SQUARE); y <= Math.floor(bottom / SQUARE); y++) {
      found.push(`${x},${y}`);
    }
  }
  return found;
}
