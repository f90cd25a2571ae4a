import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { GraphClient } from "../api/graph";
import { readAround } from "./ask";
import { LONGEST_LIST, readDifferences, renderDifferences } from "./address";

describe("the address of a picture", () => {
  const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 20 }), { maxLength: 20 });

  test("gives back what came in and what was taken out, beside the query", () => {
    fc.assert(
      fc.property(ids, ids, fc.string({ minLength: 1 }), (added, removed, query) => {
        const before = `#${new URLSearchParams({ query })}`;
        const { fragment, isKept } = renderDifferences(before, { added, removed });
        expect(isKept).toBe(true);
        expect(readDifferences(fragment)).toEqual({ added, removed });
        const read = new URLSearchParams(fragment.slice(1));
        expect(read.get("query")).toBe(query);
        if (added.length + removed.length > 0) expect(read.get("view")).toBe("graph");
        else expect(fragment).toBe(before);
      }),
    );
  });

  test("forgets what is no longer so, and says when it is too long", () => {
    const first = renderDifferences("#query=x", { added: ["a", "b"], removed: [] }).fragment;
    const then = renderDifferences(first, { added: ["b"], removed: ["c"] }).fragment;
    expect(readDifferences(then)).toEqual({ added: ["b"], removed: ["c"] });
    const many = Array.from({ length: LONGEST_LIST }, (_, at) => `t${at}`);
    const long = renderDifferences(first, { added: many, removed: [] });
    expect(long.isKept).toBe(false);
    expect(readDifferences(long.fragment)).toEqual({ added: [], removed: [] });
  });
});

test("what is around a twin is read step by step, each twin once", async () => {
  const asked: unknown[] = [];
  const next: Record<string, string[]> = { a: ["b", "c"], b: ["a", "d"], c: ["d"], d: ["e"] };
  const query = (text: string, { parameters }: { parameters: { some: string[] } }) => {
    asked.push(parameters.some);
    expect(text).toContain("(a)-[r:`feeds`|`ser``ves`]->(b)");
    const value = parameters.some.flatMap((id) =>
      (next[id] ?? []).map((target) => ({
        r: {
          $relationshipId: `${id}-${target}`,
          $relationshipName: "feeds",
          $sourceId: id,
          $targetId: target,
          $etag: "1",
        },
        b: { $dtId: target, $etag: "1", $metadata: { $model: "dtmi:x:Room;1" } },
      })),
    );
    return Promise.resolve({ value, continuationToken: null });
  };
  const reach = { steps: 2, direction: "out", names: ["feeds", "ser`ves"] } as const;
  const found = await readAround({ query } as unknown as GraphClient, "a", reach);
  expect(asked).toEqual([["a"], ["b", "c"]]);
  expect(found.twins.map((one) => one.$dtId)).toEqual(["b", "c", "d"]);
  expect(found.relationships.map((one) => one.$relationshipId)).toEqual([
    "a-b",
    "a-c",
    "b-a",
    "b-d",
    "c-d",
  ]);
  expect(found.more).toBe(false);
});
