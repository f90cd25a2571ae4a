import { expect, test } from "vitest";

import { renderRows } from "./JsonView";

test("rows are JSON, as many as there is room for and at least one", () => {
  const rows = [{ a: "x".repeat(50) }, { b: 1 }, { c: 2 }];
  expect(JSON.parse(renderRows(rows, 1000).text)).toEqual(rows);
  expect(renderRows(rows, 10)).toMatchObject({ shown: 1 });
  expect(JSON.parse(renderRows(rows, 80).text)).toEqual(rows.slice(0, 2));
  expect(renderRows([], 10)).toEqual({ text: "[]", shown: 0 });
});
