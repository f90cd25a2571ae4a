import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { JsonObject, ModelEntry } from "../api/types";
import { assignColors, measureDifference, NEUTRAL, PALETTE, readLinear } from "./colors";
import { ModelIndex } from "./index";

/** In OKLab: 0.02 can just be told, and this is what one tells apart without looking twice. */
const WELL_APART = 0.125;

function contrast(one: string, other: string): number {
  const luminance = (color: string): number => {
    const [r, g, b] = readLinear(color);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const [a, b] = [luminance(one), luminance(other)];
  return Math.max(a, b) / Math.min(a, b);
}

function measureClosest(colors: readonly string[]): number {
  let least = Infinity;
  colors.forEach((one, at) => {
    for (const other of colors.slice(0, at)) least = Math.min(least, measureDifference(one, other));
  });
  return least;
}

describe("the palette", () => {
  test("is legible on light and dark, and below the white of icons", () => {
    for (const color of PALETTE) {
      for (const ground of ["#ffffff", "#0d1117"]) {
        expect(contrast(color, ground), `${color} on ${ground}`).toBeGreaterThanOrEqual(3);
      }
    }
  });

  test("has its first colours the farthest apart, and none alike", () => {
    const known = [NEUTRAL, ...PALETTE];
    expect(measureClosest(known.slice(0, 17))).toBeGreaterThan(WELL_APART);
    expect(measureClosest(known.slice(0, 33))).toBeGreaterThan(0.08);
    expect(measureClosest(known)).toBeGreaterThan(0.05);
  });
});

describe("colours by id", () => {
  const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 40 });

  test("are all of the first ones before any other, and the same each time", () => {
    fc.assert(
      fc.property(ids, (given) => {
        const colors = [...assignColors(given).values()];
        expect(new Set(colors).size).toBe(given.length);
        const first = new Set(PALETTE.slice(0, 16));
        expect(colors.slice(0, 16).every((one) => first.has(one))).toBe(true);
        expect([...assignColors(given).values()]).toEqual(colors);
      }),
    );
  });

  test("stay when one more comes behind", () => {
    fc.assert(
      fc.property(ids, (given) => {
        const before = assignColors(given.slice(0, -1));
        const after = assignColors(given);
        for (const [id, color] of before) expect(after.get(id)).toBe(color);
      }),
    );
  });

  test("that were given before stay, whatever comes and goes", () => {
    fc.assert(
      fc.property(ids, ids, (first, then) => {
        const before = assignColors(first);
        const after = assignColors(then, before);
        for (const id of then) {
          if (before.has(id)) expect(after.get(id)).toBe(before.get(id));
        }
        if (new Set([...first, ...then]).size <= 64) {
          const colors = then.map((id) => after.get(id));
          expect(new Set(colors).size).toBe(then.length);
        }
      }),
    );
  });

  test("are shared where there are more ids than colours", () => {
    const many = Array.from({ length: 500 }, (_, at) => `dtmi:x:M${at};1`);
    const colors = assignColors(many);
    expect(new Set(colors.values())).toEqual(new Set(PALETTE));
    expect(colors.size).toBe(500);
  });
});

test("what the sample campus has twins of is told apart by colour alone", () => {
  const path = `${import.meta.dirname}/../../../../../src/twinframe/demo/ontology.json`;
  const documents = JSON.parse(readFileSync(path, "utf8")) as JsonObject[];
  const models = documents.map((model): ModelEntry => {
    return {
      id: String(model["@id"]),
      uploadTime: "2026-01-01T00:00:00Z",
      decommissioned: false,
      model,
    };
  });
  const index = new ModelIndex(models);
  const leaves = [...index.interfaces.keys()].filter((id) => index.heirs(id).length === 0);
  expect(leaves.length).toBeGreaterThan(10);
  expect(measureClosest(leaves.map((id) => index.color(id)))).toBeGreaterThan(WELL_APART);
  // Whatever the order in which they came.
  const again = new ModelIndex(
    models.map((one, at) => ({ ...one, uploadTime: `2026-01-01T00:00:${10 + at}Z` })).reverse(),
  );
  for (const id of index.interfaces.keys()) expect(again.color(id)).toBe(index.color(id));
});
