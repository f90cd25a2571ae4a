import { compares, type Limit } from "./request";

/** Values over time, ascending; null is a time from which there was none. */
export interface Values {
  /** Seconds since 1970. */
  times: readonly number[];
  values: readonly (number | null)[];
  /** The step of time of which each is an aggregate; null where they are the values themselves. */
  step: string | null;
  /** Whether a value holds until the next one, as that of a property; else it was measured then. */
  holds: boolean;
}

export const NO_VALUES: Values = { times: [], values: [], step: null, holds: false };

/** What is known of values in a span, in numbers. */
export interface Summary {
  last: number | null;
  lowest: number | null;
  highest: number | null;
}

export function summarize({ values }: Pick<Values, "values">): Summary {
  let [lowest, highest]: [number | null, number | null] = [null, null];
  for (const one of values) {
    if (one === null) continue;
    if (lowest === null || one < lowest) lowest = one;
    if (highest === null || one > highest) highest = one;
  }
  return { last: values.at(-1) ?? null, lowest, highest };
}

/** The value at a time in seconds: that at it or before it; null where there is none. */
export function valueAtTime({ times, values }: Values, time: number): number | null {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? null : (values[low - 1] ?? null);
}

/** How values stand to a limit, at the end of what is known. */
export type Standing =
  | { kind: "none" }
  /** They fit it now: since a time, or since before the first time that is known. */
  | { kind: "now"; since: number; before: boolean }
  /** They did, from one time to another. */
  | { kind: "past"; from: number; to: number };

/** Since when values fit a limit, or when they did last. */
export function standTo({ times, values }: Values, limit: Limit): Standing {
  const fits = (at: number): boolean => {
    const value = values[at];
    return value !== null && value !== undefined && compares(value, limit);
  };
  let end = values.length - 1;
  const isNow = end >= 0 && fits(end);
  while (end >= 0 && !fits(end)) end--;
  if (end < 0) return { kind: "none" };
  let start = end;
  while (start > 0 && fits(start - 1)) start--;
  const since = times[start] ?? 0;
  if (isNow) return { kind: "now", since, before: start === 0 };
  return { kind: "past", from: since, to: times[end + 1] ?? since };
}

/** A time that has passed, in the two largest units of it. */
export function writeDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "min"],
    [whole % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}

export function writeNumber(value: number): string {
  return value.toLocaleString([], { maximumFractionDigits: 4 });
}

/** Whether there is nothing to be seen of them over time. */
export function isConstant({ values }: Pick<Values, "values">): boolean {
  const [first] = values;
  return values.every((one) => one === first);
}
