import { expect, test } from "vitest";

import { addressOf, momentAfter, readChange } from "./history";

test("the address is of the newest changes, up to the moment that is shown", () => {
  expect(addressOf({ kind: "twin", id: "a b" }, null)).toBe(
    "/digitaltwins/a%20b/history?order=newest",
  );
  const moment = Date.parse("2026-03-01T10:00:00Z");
  expect(addressOf({ kind: "relationship", sourceId: "a", id: "r" }, moment)).toBe(
    "/digitaltwins/a/relationships/r/history?order=newest&to=2026-03-01T10%3A00%3A00.000Z",
  );
});

test("a change has who made it, and each value before and after", () => {
  const change = readChange({
    position: 4,
    time: "2026-03-01T10:00:00.1234567Z",
    action: "updated",
    who: "ada",
    changes: [
      { path: "temperature", before: 20, after: 21, sourceTime: "2026-03-01T09:59:00Z" },
      { path: "use", after: "office" },
    ],
  });
  expect(change.who).toBe("ada");
  expect(change.values).toEqual([
    { path: "temperature", before: 20, after: 21, sourceTime: "2026-03-01T09:59:00Z" },
    { path: "use", before: undefined, after: "office", sourceTime: null },
  ]);
  expect(readChange({ position: 5, time: "", action: "deleted" })).toMatchObject({
    who: null,
    values: [],
  });
});

test("the state after a change is of the next whole millisecond, unless it is one itself", () => {
  const at = Date.parse("2026-03-01T10:00:00.123Z");
  expect(momentAfter({ time: "2026-03-01T10:00:00.1230000Z" })).toBe(at);
  expect(momentAfter({ time: "2026-03-01T10:00:00.1230001Z" })).toBe(at + 1);
  expect(momentAfter({ time: "2026-03-01T10:00:00Z" })).toBe(Date.parse("2026-03-01T10:00:00Z"));
});
