/** The least that the axis of a chart tells of, in seconds. */
export const SHORTEST = 60;

/**
 * What a chart of these times (seconds since 1970, ascending) shows, from and to: all of them, and
 * where they lie closer than a minute that minute, with them in its middle.
 */
export function windowOf(times: readonly number[]): [from: number, to: number] {
  const [first = 0] = times;
  const last = times.at(-1) ?? first;
  if (last - first >= SHORTEST) return [first, last];
  const middle = (first + last) / 2;
  return [middle - SHORTEST / 2, middle + SHORTEST / 2];
}
