import fc from "fast-check";
import { expect, test } from "vitest";

import { SHORTEST, windowOf } from "./timeWindow";

const NOW = 1_790_000_000;

test("one value alone stands in the middle of a minute", () => {
  expect(windowOf([NOW])).toEqual([NOW - 30, NOW + 30]);
});

test("values of one moment do too", () => {
  expect(windowOf([NOW, NOW, NOW])).toEqual([NOW - 30, NOW + 30]);
});

test("values of a while fill the window", () => {
  expect(windowOf([NOW - 90, NOW - 10, NOW])).toEqual([NOW - 90, NOW]);
});

test("a window is never shorter than a minute, nor longer than what it has to show", () => {
  const times = fc.array(fc.double({ min: 0, max: 4e9, noNaN: true }), { minLength: 1 });
  fc.assert(
    fc.property(times, (some) => {
      const sorted = some.toSorted((one, other) => one - other);
      const first = sorted[0] as number;
      const last = sorted.at(-1) as number;
      const [from, to] = windowOf(sorted);
      expect(from).toBeLessThanOrEqual(first);
      expect(to).toBeGreaterThanOrEqual(last);
      expect(to - from).toBeCloseTo(Math.max(SHORTEST, last - first), 3);
    }),
  );
});
