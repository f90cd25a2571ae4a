import { expect, test } from "vitest";

import { writeExport, type PageSource, type Progress } from "./export";

const PAGES: Record<string, Awaited<ReturnType<PageSource>>> = {
  one: { value: [{ a: 2 }], continuationToken: "two" },
  two: { value: [], continuationToken: "three" },
  three: { value: [{ a: 3, b: "x" }], continuationToken: null },
};
const next: PageSource = (token) => {
  const page = PAGES[token];
  return page === undefined ? Promise.reject(new Error(token)) : Promise.resolve(page);
};
const BASE = { spread: false, guard: false };

test("all pages behind the rows at hand are written, with the progress", async () => {
  const told: Progress[] = [];
  const parts = await writeExport(
    [{ a: 1 }],
    "one",
    next,
    { ...BASE, format: "json", all: true },
    (one) => told.push(one),
  );
  expect(JSON.parse(parts.join(""))).toEqual([{ a: 1 }, { a: 2 }, { a: 3, b: "x" }]);
  expect(told).toEqual([
    { rows: 1, done: false },
    { rows: 2, done: false },
    { rows: 2, done: false },
    { rows: 3, done: true },
  ]);
});

test("only the rows at hand are written when that is asked for", async () => {
  const parts = await writeExport(
    [{ a: 1 }],
    "one",
    next,
    { ...BASE, format: "csv", all: false },
    () => undefined,
  );
  expect(parts.join("")).toBe("a\r\n1\r\n");
});

test("no rows are an empty list", async () => {
  const parts = await writeExport(
    [],
    null,
    next,
    { ...BASE, format: "json", all: true },
    () => undefined,
  );
  expect(JSON.parse(parts.join(""))).toEqual([]);
});

test("a page that fails ends the export", async () => {
  const failing = writeExport(
    [],
    "none",
    next,
    { ...BASE, format: "csv", all: true },
    () => undefined,
  );
  await expect(failing).rejects.toThrow("none");
});
