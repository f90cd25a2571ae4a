import fc from "fast-check";
import { expect, test } from "vitest";

import { measureAway, type Point } from "./hit";

const some = fc.integer({ min: -500, max: 500 });
const point = fc.record({ x: some, y: some });
const bend = fc.double({ min: -0.75, max: 0.75, noNaN: true });

test("a point beside a straight edge is as far from it as from its line, and beyond from its end", () => {
  const [from, to] = [
    { x: 0, y: 0 },
    { x: 100, y: 0 },
  ];
  const away = (at: Point): number => measureAway(at, from, to, 0);
  expect(away({ x: 40, y: 7 })).toBe(7);
  expect(away({ x: 103, y: 4 })).toBe(5);
  expect(measureAway({ x: 3, y: 4 }, from, from, 0)).toBe(5);
});

test("a curve passes halfway to what it is bent to, at the right of its way on a screen", () => {
  const [from, to] = [
    { x: 0, y: 0 },
    { x: 100, y: 0 },
  ];
  expect(measureAway({ x: 50, y: -20 }, from, to, 0.4)).toBeLessThan(0.01);
  expect(measureAway({ x: 50, y: 20 }, from, to, -0.4)).toBeLessThan(0.01);
  expect(measureAway({ x: 50, y: 0 }, from, to, 0.4)).toBeGreaterThan(15);
});

test("an edge is as near whichever way one looks along it", () => {
  fc.assert(
    fc.property(point, point, point, bend, (at, from, to, curvature) => {
      const away = measureAway(at, from, to, curvature);
      expect(measureAway(at, to, from, -curvature)).toBeCloseTo(away, 6);
      expect(away).toBeLessThanOrEqual(Math.hypot(at.x - from.x, at.y - from.y) + 1e-9);
    }),
  );
});
