import fc from "fast-check";
import { applyPatch, type Operation } from "fast-json-patch";
import { describe, expect, test } from "vitest";

import { parseJson, renderJson } from "../api/json";
import type { Json, JsonObject } from "../api/types";
import {
  buildPatch,
  editable,
  isWithin,
  merge,
  namesOf,
  pointerOf,
  readAt,
  writeAt,
} from "./document";

// NOTE: the library that the patches are tried with refuses names that could change prototypes.
const name = fc
  .oneof(fc.constantFrom("a", "b", "$metadata", "x/y", "~", ""), fc.string())
  .filter((one) => !["__proto__", "constructor", "prototype"].includes(one));
/** Whole numbers that are no numbers of JavaScript, many of which round to the same. */
const wide = fc.bigInt({ min: 2n ** 63n - 1000n, max: 2n ** 63n - 1n });
const { value: json } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    wide,
    fc.string(),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(name, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const document = fc.dictionary(name, json, {
  maxKeys: 5,
  noNullPrototype: true,
}) as fc.Arbitrary<JsonObject>;

function apply(patch: object[], to: JsonObject): JsonObject {
  // It clones by way of JSON unless it may change what it is given.
  return applyPatch(structuredClone(to), patch as Operation[], true, true).newDocument;
}

describe("a patch", () => {
  test("makes the one document of the other, whatever they are", () => {
    fc.assert(
      fc.property(document, document, (from, to) => {
        expect(apply(buildPatch(from, to), from)).toEqual(to);
      }),
    );
  });

  test("of an edit at a place holds nothing else", () => {
    fc.assert(
      fc.property(document, name, json, (from, member, value) => {
        const to = writeAt(from, pointerOf(member), value);
        for (const { path } of buildPatch(from, to)) {
          expect(isWithin(path, pointerOf(member))).toBe(true);
        }
        expect(apply(buildPatch(from, to), from)).toEqual(to);
      }),
    );
  });

  test("replaces lists whole, and enters no list", () => {
    const from = { list: [{ a: 1 }, 2, 3], map: { x: 1, y: 2 } };
    const to = { list: [{ a: 2 }, 3], map: { x: 1, y: 3 } };
    expect(buildPatch(from, to)).toHaveLength(2);
    expect(buildPatch(from, to)).toContainEqual({
      op: "replace",
      path: "/list",
      value: [{ a: 2 }, 3],
    });
    expect(buildPatch(from, to)).toContainEqual({ op: "replace", path: "/map/y", value: 3 });
  });

  test("has whole numbers of 64 bits as they are, in lists and maps too", () => {
    const from = parseJson('{"a":1,"n":9223372036854775806,"list":[9007199254740993,1]}');
    const to = parseJson('{"a":2,"n":9223372036854775807,"list":[9007199254740993,2]}');
    expect(renderJson(buildPatch(from as JsonObject, to as JsonObject))).toBe(
      '[{"op":"replace","path":"/a","value":2},' +
        '{"op":"replace","path":"/n","value":9223372036854775807},' +
        '{"op":"replace","path":"/list","value":[9007199254740993,2]}]',
    );
  });

  test("never names what says which document it is", () => {
    const twin = { $dtId: "a", $etag: "e", $metadata: { $model: "m" }, x: 1 };
    expect(editable(twin)).toEqual({ $metadata: { $model: "m" }, x: 1 });
  });
});

describe("a pointer", () => {
  test("comes apart as it was put together", () => {
    fc.assert(
      fc.property(fc.array(name), (names) => {
        expect(namesOf(pointerOf(...names))).toEqual(names);
      }),
    );
  });

  test("reads what was written at it, and nothing once it was taken away", () => {
    fc.assert(
      fc.property(
        document,
        fc.array(name, { minLength: 1, maxLength: 3 }),
        json,
        (one, at, value) => {
          const pointer = pointerOf(...at);
          const written = writeAt(one, pointer, value);
          expect(readAt(written, pointer)).toEqual(value);
          expect(readAt(writeAt(written, pointer, undefined), pointer)).toBeUndefined();
        },
      ),
    );
  });
});

describe("two who edit one document", () => {
  test("lose nothing where they edit different members", () => {
    fc.assert(
      fc.property(document, json, json, (base, one, other) => {
        const start = { ...base, mine: 0, theirs: 0 };
        const merged = merge(start, { ...start, mine: one }, { ...start, theirs: other });
        expect(merged.conflicts).toEqual([]);
        expect(merged.draft).toEqual({ ...start, mine: one, theirs: other });
      }),
    );
  });

  test("conflict exactly where both changed a place, to different values", () => {
    const base = { a: 1, b: 1, c: { d: 1, e: 1 }, list: [1] };
    const mine = { a: 2, b: 2, c: { d: 2, e: 1 }, list: [1, 2] };
    const next = { a: 3, b: 2, c: { d: 1, e: 2 }, list: [0] };
    const merged = merge(base, mine, next);
    expect(merged.conflicts.sort((one, other) => one.path.localeCompare(other.path))).toEqual([
      { path: "/a", base: 1, mine: 2, theirs: 3 },
      { path: "/list", base: [1], mine: [1, 2], theirs: [0] },
    ]);
    expect(merged.draft).toEqual({ a: 2, b: 2, c: { d: 2, e: 2 }, list: [1, 2] });
    expect(merged.news).toEqual(["/c/e"]);
  });

  test("conflict at the whole of what one took away and the other edited", () => {
    const base = { tags: { x: 1, y: 1 } };
    const merged = merge(base, { tags: { x: 2, y: 2 } }, {});
    expect(merged.conflicts).toEqual([
      { path: "/tags", base: { x: 1, y: 1 }, mine: { x: 2, y: 2 }, theirs: undefined },
    ]);
  });

  test("leave a document that has mine at each conflict, theirs elsewhere", () => {
    fc.assert(
      fc.property(document, document, document, (base, mine, next) => {
        const { draft, conflicts } = merge(base, mine, next);
        for (const one of conflicts)
          expect(readAt(draft, one.path)).toEqual(readAt(mine, one.path));
        const theirs = conflicts.reduce((made, { path, theirs: value }) => {
          return writeAt(made, path, value);
        }, draft);
        for (const { path } of buildPatch(base, next)) {
          const alsoMine = buildPatch(base, mine).some(
            (other) => isWithin(other.path, path) || isWithin(path, other.path),
          );
          if (!alsoMine) expect(readAt(theirs, path)).toEqual(readAt(next, path));
        }
      }),
    );
  });
});
