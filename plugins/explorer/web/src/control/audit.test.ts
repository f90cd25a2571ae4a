import { expect, test } from "vitest";

import type { AuditEntry } from "../api/control";
import type { JsonObject } from "../api/types";
import { listDifferences } from "./audit";

function entry(before: JsonObject | null, after: JsonObject | null): AuditEntry {
  return {
    position: 1,
    at: "2026-01-01T00:00:00Z",
    actor: "ada",
    actor_email: null,
    actor_kind: "user",
    request_id: "r",
    action: "projects/update",
    target: "project:campus",
    before,
    after,
  };
}

test("only members that differ are told, by name", () => {
  const found = listDifferences(
    entry(
      { name: "Old", id: "campus", settings: { a: 1 } },
      { settings: { a: 2 }, name: "New", id: "campus" },
    ),
  );
  expect(found).toEqual([
    { name: "name", before: "Old", after: "New" },
    { name: "settings", before: '{"a":1}', after: '{"a":2}' },
  ]);
});

test("the moment of the change itself is not told again, others as people write them", () => {
  const found = listDifferences(
    entry(null, { created_at: 1_795_312_114_463_486_417n as never, updated_at: 2, error: "" }),
  );
  expect(found).toEqual([
    { name: "created_at", before: null, after: new Date(1_795_312_114_463).toLocaleString() },
  ]);
});

test("what was made or deleted has one side alone", () => {
  expect(listDifferences(entry(null, { id: "campus", email: null }))).toEqual([
    { name: "id", before: null, after: "campus" },
  ]);
  expect(listDifferences(entry({ count: 3 }, null))).toEqual([
    { name: "count", before: "3", after: null },
  ]);
});
