import { expect, test } from "vitest";

import { joinSeries, pathOf } from "./stored";

test("what came in stands behind what is kept, and no point twice", () => {
  const kept = { times: [10, 20, 30], values: [1, null, 3] };
  const live = { name: "reading", component: "climate", times: [5, 30, 40], values: [9, 3, 4] };
  expect(joinSeries(live, kept, live)).toEqual({
    name: "reading",
    component: "climate",
    times: [10, 30, 40],
    values: [1, 3, 4],
  });
  expect(joinSeries(live, undefined, live).times).toEqual([5, 30, 40]);
  expect(joinSeries(live, kept, undefined).values).toEqual([1, 3]);
});

test("the path of a series has the component before it, and members of objects behind it", () => {
  expect(pathOf({ component: null, name: "people" })).toBe("people");
  expect(pathOf({ component: "climate", name: "window.open" })).toBe("climate/window/open");
});
