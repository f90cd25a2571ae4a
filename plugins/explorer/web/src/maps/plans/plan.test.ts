import { describe, expect, test } from "vitest";

import { finishShape, mergeShapes, moveShape, readPlan, renderPlan, type Shapes } from "./plan";

const CONTENT = {
  kind: "plan",
  version: 1,
  image: "data:image/webp;base64,AAAA",
  width: 800,
  height: 600,
  location: "b1-l0",
  shapes: { r1: [[10, 20]], r2: [[0, 0], [10, 0], [10, 10]] }, // prettier-ignore
};

describe("a floor plan in a workspace", () => {
  test("is read as it was written", () => {
    const plan = readPlan(CONTENT);
    expect(plan.shapes.get("r1")).toEqual([[10, 20]]);
    expect(renderPlan(plan)).toEqual(CONTENT);
  });

  test("has nothing but a picture in it", () => {
    for (const image of [
      "https://example.com/plan.png",
      "javascript:alert(1)",
      "data:text/html;base64,AAAA",
      'data:image/png;base64,AA"onload=',
      7,
    ]) {
      expect(() => readPlan({ ...CONTENT, image })).toThrow("`image` is no picture");
    }
    expect(readPlan({ ...CONTENT, image: null }).image).toBeNull();
  });

  test("is refused with what is wrong", () => {
    expect(() => readPlan({ ...CONTENT, width: 0 })).toThrow("`width` and `height`");
    expect(() => readPlan({ ...CONTENT, shapes: [] })).toThrow("no object");
    for (const r1 of [
      [],
      [
        [1, 2],
        [3, 4],
      ],
      [[1]],
      [["a", 1]],
      3,
    ]) {
      // prettier-ignore
      expect(() => readPlan({ ...CONTENT, shapes: { r1 } })).toThrow("shape of r1");
    }
  });
});

test("what two have drawn is merged, and what both have changed is told", () => {
  const base: Shapes = new Map([["a", [[1, 1]]], ["b", [[2, 2]]], ["c", [[3, 3]]], ["d", [[4, 4]]]]); // prettier-ignore
  const mine: Shapes = new Map([["a", [[9, 9]]], ["b", [[2, 2]]], ["d", [[5, 5]]], ["mine", [[6, 6]]]]); // prettier-ignore
  const theirs: Shapes = new Map([["a", [[1, 1]]], ["b", [[7, 7]]], ["c", [[3, 3]]], ["d", [[8, 8]]], ["theirs", [[0, 0]]]]); // prettier-ignore
  const { shapes, both } = mergeShapes(base, mine, theirs);
  expect(Object.fromEntries(shapes)).toEqual({
    a: [[9, 9]],
    b: [[7, 7]],
    d: [[5, 5]],
    mine: [[6, 6]],
    theirs: [[0, 0]],
  });
  expect(both).toEqual(["d"]);
});

test("a shape is moved as far as the plan goes", () => {
  const sheet = { width: 100, height: 50 };
  expect(moveShape([[10, 10], [20, 10], [20, 30]], [200, -5], sheet)).toEqual([[90, 5], [100, 5], [100, 25]]); // prettier-ignore
});

test("corners make a shape with the tool that is chosen", () => {
  expect(finishShape("point", [[1, 2]], false)).toEqual([[1, 2]]);
  expect(finishShape("rectangle", [[1, 2]], false)).toBeNull();
  expect(finishShape("rectangle", [[1, 2], [1, 9]], false)).toBeNull(); // prettier-ignore
  expect(finishShape("rectangle", [[1, 2], [5, 9]], false)).toEqual([[1, 2], [5, 2], [5, 9], [1, 9]]); // prettier-ignore
  const corners = [[0, 0], [1, 0], [1, 1]] as const; // prettier-ignore
  expect(finishShape("area", corners, false)).toBeNull();
  expect(finishShape("area", corners, true)).toEqual(corners);
  expect(finishShape("area", corners.slice(0, 2), true)).toBeNull();
});
