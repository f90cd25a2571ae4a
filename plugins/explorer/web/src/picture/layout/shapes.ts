import type { Place } from "../store";

/** Rows and columns, about 3 to 2. */
export function placeInGrid(count: number): Place[] {
  const columns = Math.max(1, Math.ceil(Math.sqrt(count * 1.5)));
  return Array.from({ length: count }, (_, at) => ({
    x: at % columns,
    y: -Math.floor(at / columns),
  }));
}

/** A circle whose neighbours stand one unit apart. */
export function placeInCircle(count: number): Place[] {
  const radius = Math.max(1, count / (2 * Math.PI));
  return Array.from({ length: count }, (_, at) => {
    const angle = Math.PI / 2 - (2 * Math.PI * at) / Math.max(1, count);
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
}

/** Where a node begins that has no place yet: a sunflower's seeds, the same each time. */
export function placeSeed(at: number): Place {
  const radius = 10 * Math.sqrt(at + 0.5);
  const angle = at * 2.399963;
  return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
}
