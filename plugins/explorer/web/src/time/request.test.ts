import fc from "fast-check";
import { expect, test } from "vitest";

import {
  addSeries,
  AGGREGATES,
  chooseStep,
  COMPARISONS,
  EMPTY_CHART,
  MOST_SERIES,
  readLimit,
  readRequest,
  readStep,
  renderRequest,
  spanOf,
} from "./request";

const name = fc.record({
  twin: fc.string({ minLength: 1 }).filter((one) => !one.includes("/")),
  path: fc.string({ minLength: 1 }),
});
const range = fc.oneof(
  fc.constantFrom("15m", "24h", "365d").map((span) => ({ kind: "last" as const, span })),
  fc
    .tuple(fc.integer({ min: 0, max: 2e12 }), fc.integer({ min: 1, max: 1e10 }))
    .map(([from, more]) => ({ kind: "between" as const, from, to: from + more })),
);

test("an address says all of a chart", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(name, {
        minLength: 1,
        maxLength: MOST_SERIES,
        selector: (one) => `${one.twin}/${one.path}`,
      }),
      range,
      fc.constantFrom(null, "5m", "1d"),
      fc.constantFrom(...AGGREGATES),
      fc.option(
        fc.record({
          comparison: fc.constantFrom(...COMPARISONS),
          value: fc.integer({ min: -1000, max: 1000 }).map((one) => one / 8),
        }),
      ),
      (series, span, step, aggregate, limit) => {
        const request = { series, range: span, step, aggregate, limit };
        expect(readRequest(renderRequest(request))).toEqual(request);
      },
    ),
  );
});

test("what cannot be read of an address is left out", () => {
  expect(readRequest("")).toBeNull();
  expect(readRequest("#series=nothing&series=/x&series=x/")).toBeNull();
  const read = readRequest(
    "#series=a/b&span=never&step=x&aggregate=no&limit=24&from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
  );
  expect(read).toEqual({ ...EMPTY_CHART, series: [{ twin: "a", path: "b" }] });
});

test("a series is in a chart once, and a chart has no more than can be told apart", () => {
  const one = { twin: "a", path: "b" };
  expect(addSeries(addSeries(EMPTY_CHART, [one]), [{ ...one }]).series).toEqual([one]);
  const many = Array.from({ length: 40 }, (_, at) => ({ twin: `t${at}`, path: "x" }));
  expect(addSeries(EMPTY_CHART, many).series).toHaveLength(MOST_SERIES);
});

test("steps are read as the service reads them, and chosen by the span", () => {
  expect(["500ms", "30s", "5m", "2h", "7d"].map(readStep)).toEqual([
    500, 30_000, 300_000, 7_200_000, 604_800_000,
  ]);
  expect(["", "5", "m", "0m", "1w", "-1m"].map(readStep)).toEqual(Array(6).fill(null));
  expect(chooseStep(86_400_000, 300)).toBe("5m");
  expect(chooseStep(60_000, 300)).toBe("1s");
  expect(chooseStep(1e13, 10)).toBe("30d");
});

test("a span that goes on ends now", () => {
  expect(spanOf({ kind: "last", span: "1h" }, 7_200_000)).toEqual({
    from: 3_600_000,
    to: 7_200_000,
  });
  expect(spanOf({ kind: "between", from: 1, to: 2 }, 9)).toEqual({ from: 1, to: 2 });
});

test("a limit is a comparison and a number", () => {
  expect(readLimit("> 24.5")).toEqual({ comparison: ">", value: 24.5 });
  expect(readLimit("<=-3")).toEqual({ comparison: "<=", value: -3 });
  expect(["24", ">", "> warm", "= 3", ""].map(readLimit)).toEqual(Array(5).fill(null));
});
