import { readStored, storageKey, writeStored, type Keeper } from "../query/storage";

export type LayoutKind = "force" | "layers" | "circle" | "grid";

export interface Place {
  x: number;
  y: number;
}

/** What the browser remembers of the pictures of a graph. */
export interface Kept {
  layout: LayoutKind;
  /** The places of pinned twins by id, those that were pinned last at the end. */
  pins: ReadonlyMap<string, Place>;
}

/** So many pins are remembered; beyond, those that were pinned first are forgotten. */
const MOST_PINS = 2000;
const LAYOUTS: readonly string[] = ["force", "layers", "circle", "grid"] satisfies LayoutKind[];
const NOTHING: Kept = { layout: "force", pins: new Map() };

/** What was kept; nothing of it where it cannot be read, as anybody may have written there. */
export function readKept(stored: unknown): Kept {
  if (typeof stored !== "object" || stored === null) return NOTHING;
  const { layout, pins } = stored as { layout?: unknown; pins?: unknown };
  const known = new Map<string, Place>();
  for (const one of Array.isArray(pins) ? (pins as unknown[]) : []) {
    if (!Array.isArray(one)) continue;
    const [id, x, y] = one as unknown[];
    if (typeof id === "string" && Number.isFinite(x) && Number.isFinite(y)) {
      known.set(id, { x: x as number, y: y as number });
    }
  }
  return {
    layout: LAYOUTS.includes(String(layout)) ? (layout as LayoutKind) : "force",
    pins: known,
  };
}

/** The same with these pinned, or no longer. */
export function changePins(
  before: ReadonlySet<string>,
  ids: readonly string[],
  pinned: boolean,
): ReadonlySet<string> {
  const next = new Set(before);
  for (const id of ids) {
    if (pinned) next.add(id);
    else next.delete(id);
  }
  return next;
}

/** Pins of the graph that is looked at: they outlive the picture and a reload of the page. */
export class Pins {
  private key: string | null = null;
  private kept = NOTHING;

  /** Whose pins of which graph it is about; whether that was another one before. */
  open(keeper: Keeper): boolean {
    const key = storageKey(keeper, "picture");
    if (key === this.key) return false;
    this.key = key;
    this.kept = readKept(readStored(key));
    return true;
  }

  get layout(): LayoutKind {
    return this.kept.layout;
  }

  of(id: string): Place | undefined {
    return this.kept.pins.get(id);
  }

  keepLayout(layout: LayoutKind): void {
    this.write((before) => ({ ...before, layout }));
  }

  /** Remember these at their places, or, without a place, no longer. */
  keep(changed: ReadonlyMap<string, Place | null>): void {
    this.write(({ layout, pins }) => {
      const next = new Map(pins);
      for (const [id, place] of changed) {
        next.delete(id);
        if (place !== null) next.set(id, place);
      }
      return { layout, pins: new Map([...next].slice(-MOST_PINS)) };
    });
  }

  private write(change: (before: Kept) => Kept): void {
    // Another tab may have kept some meanwhile.
    const stored = this.key === null ? null : readStored(this.key);
    this.kept = change(stored === null ? this.kept : readKept(stored));
    if (this.key === null) return;
    const pins = [...this.kept.pins].map(([id, { x, y }]) => [id, x, y]);
    // NOTE: where the browser refuses, they hold until the page is left.
    writeStored(this.key, { layout: this.kept.layout, pins });
  }
}
