import { expect, test } from "vitest";

import { move } from "./useGridFocus";

const key = (name: string, ctrlKey = false) => ({ key: name, ctrlKey, metaKey: false });

test("keys lead to the next cell, the next screen or the ends, never out of the grid", () => {
  const at = { row: 5, column: 1 };
  expect(move(at, key("ArrowDown"), 100, 3)).toEqual({ row: 6, column: 1 });
  expect(move(at, key("ArrowRight", true), 100, 3)).toEqual({ row: 5, column: 2 });
  expect(move(at, key("End", true), 100, 3)).toEqual({ row: 99, column: 2 });
  expect(move(at, key("PageUp"), 100, 3)).toEqual({ row: 0, column: 1 });
  expect(move({ row: 99, column: 2 }, key("ArrowDown"), 100, 3)).toEqual({ row: 99, column: 2 });
  expect(move(at, key("a"), 100, 3)).toBeNull();
});
