import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { isSame, parseJson, renderJson } from "./json";
import type { Json } from "./types";

const SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const wide = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).filter((one) => {
  return one > SAFE || one < -SAFE;
});

/** Documents as their text, in the form that the page writes. */
const { text } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: "small" },
    wide.map(String),
    fc.maxSafeInteger().map(String),
    fc.double({ noInteger: true, noNaN: true, noDefaultInfinity: true }).map(String),
    fc.string().map((one) => JSON.stringify(one)),
    fc.constantFrom("true", "false", "null", '"9007199254740993"', '": 9007199254740993, 1e400"'),
    fc.array(tie("text")).map((all) => `[${all.join(",")}]`),
    // NOTE: JavaScript puts names that are numbers first, so that none is one here.
    fc
      .dictionary(
        fc.string().map((one) => `a${one}`),
        tie("text"),
      )
      .map((all) => {
        const members = Object.entries(all).map(
          ([name, value]) => `${JSON.stringify(name)}:${value}`,
        );
        return `{${members.join(",")}}`;
      }),
  ),
}));

function attempt(parse: (text: string) => unknown, written: string): unknown {
  try {
    return parse(written);
  } catch (error) {
    return (error as Error).name;
  }
}

/** As the browser's own parser, which reads a double that is too large as `Infinity`: refused. */
function readFinite(written: string): unknown {
  return JSON.parse(written, (_name, value: unknown) => {
    if (value === Infinity || value === -Infinity) throw new SyntaxError("too large");
    return value;
  });
}

/** A text as `parseJson` reads it, with whole numbers rounded as the browser does. */
function readRounded(written: string): unknown {
  const round = (value: Json): Json => {
    if (typeof value === "bigint") return Number(value);
    if (Array.isArray(value)) return value.map(round);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, round(one)]));
  };
  return round(parseJson(written));
}

describe("a JSON text", () => {
  test("of any whole numbers is read and written without a change", () => {
    fc.assert(
      fc.property(text, (written) => {
        expect(renderJson(parseJson(written))).toBe(written);
        const indented = renderJson(parseJson(written), 2);
        expect(renderJson(parseJson(indented))).toBe(written);
      }),
      { numRuns: 500 },
    );
  });

  test("has numbers where they are exact, and bigints beyond", () => {
    expect(parseJson("[9007199254740991, 9007199254740992, -9223372036854775808, 1.0]")).toEqual([
      9007199254740991,
      9007199254740992n,
      -9223372036854775808n,
      1,
    ]);
    expect(parseJson("9007199254740992.0")).toBe(2 ** 53);
  });

  test("reads as the browser's own parser reads it, whether it is JSON or not", () => {
    const broken = fc.tuple(fc.json(), fc.nat(), fc.constantFrom(",", '"', "}", "1", "\\", ""));
    const any = fc.oneof(
      fc.json(),
      fc.string(),
      broken.map(([one, at, sign]) => {
        const place = at % (one.length + 1);
        return one.slice(0, place) + sign + one.slice(place + 1);
      }),
    );
    fc.assert(
      fc.property(any, (written) => {
        // What stands in front has it read with care; its value is the same to both.
        const delicate = `[1000000000000000,${written}]`;
        expect(attempt(readRounded, delicate)).toEqual(attempt(readFinite, delicate));
        expect(attempt(readRounded, written)).toEqual(attempt(readFinite, written));
      }),
      { numRuns: 500, examples: [["3.5e+361"], ["[1e999]"], ['{"a":-1E400,"b":"']] },
    );
  });

  test("keeps a member named __proto__ as one, and the last of one name", () => {
    const read = parseJson('{"__proto__":{"x":9007199254740993},"a":1,"a":2}');
    expect(renderJson(read)).toBe('{"__proto__":{"x":9007199254740993},"a":2}');
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  });

  test.each(["1e400", "-1E+999", '{"a": [1, 12.5e0400]}', `${"9".repeat(310)}.5`])(
    "with a number that no double holds is refused: %s",
    (written) => {
      expect(() => parseJson(written)).toThrow(/is too large/);
      expect(() => parseJson(written)).toThrow(SyntaxError);
    },
  );

  test("writes a large double as one, as whole numbers have 64 bits at most", () => {
    expect(renderJson([1e19, -(2 ** 63), 2 ** 53, 2 ** 53 - 1, 0.5])).toBe(
      "[1e+19,-9.223372036854776e+18,9.007199254740992e+15,9007199254740991,0.5]",
    );
    const doubles = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(fc.property(doubles, (one) => parseJson(renderJson(one)) === one));
  });

  test("is written with what is replaced in it, and without what is not set", () => {
    const cut = (_: string, member: unknown) => (member === "long" ? "l…" : member);
    expect(renderJson({ a: "long", b: 2n ** 60n, c: undefined }, 0, cut)).toBe(
      '{"a":"l…","b":1152921504606846976}',
    );
  });
});

describe("two values", () => {
  test("are the same where their members are, in any order", () => {
    const reverse = (value: Json): Json =>
      Array.isArray(value)
        ? value.map(reverse)
        : value !== null && typeof value === "object"
          ? Object.fromEntries(
              Object.entries(value)
                .reverse()
                .map(([name, one]) => [name, reverse(one)]),
            )
          : value;
    fc.assert(
      fc.property(text, text, (one, other) => {
        expect(isSame(parseJson(one), reverse(parseJson(one)))).toBe(true);
        if (one !== other && !one.startsWith("{") && !one.startsWith("[")) {
          expect(isSame(parseJson(one), parseJson(other))).toBe(false);
        }
      }),
    );
  });

  test.each<[Json | undefined, Json | undefined]>([
    [9223372036854775807n, 9223372036854775806n],
    [2n ** 53n, 2 ** 53],
    [[1], { 0: 1 }],
    [{ a: 1 }, { a: 1, b: 1 }],
    [{ a: 1 }, { b: 1 }],
    [[1, 2], [1]],
    [null, {}],
    [undefined, null],
  ])("%s and %s are not", (one, other) => {
    expect(isSame(one, other)).toBe(false);
    expect(isSame(other, one)).toBe(false);
  });
});
