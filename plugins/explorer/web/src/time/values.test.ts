import { expect, test } from "vitest";

import { buildValues, readFirstKept } from "./read";
import { joinSeries } from "./join";
import { drawSpark } from "./drawSpark";
import type { ShownSeries } from "./useSeries";
import { isConstant, standTo, summarize, valueAtTime, writeDuration, type Values } from "./values";

const WARM = { comparison: ">", value: 24 } as const;

function of(...values: (number | null)[]): Values {
  return { times: values.map((_, at) => at * 60), values, step: null, holds: true };
}

test("since when a value fits a limit", () => {
  expect(standTo(of(20, 25, 23, 24.5, 26), WARM)).toEqual({
    kind: "now",
    since: 180,
    before: false,
  });
  expect(standTo(of(25, 26), WARM)).toEqual({ kind: "now", since: 0, before: true });
  expect(standTo(of(20, 25, 26, 22, 21), WARM)).toEqual({ kind: "past", from: 60, to: 180 });
  expect(standTo(of(20, 24, null), WARM)).toEqual({ kind: "none" });
  expect(standTo(of(), WARM)).toEqual({ kind: "none" });
  expect(standTo(of(25, null), WARM)).toEqual({ kind: "past", from: 0, to: 60 });
});

test("the lowest, highest and last of values, and that at a time", () => {
  const values = of(3, null, 5);
  expect(summarize(values)).toEqual({ last: 5, lowest: 3, highest: 5 });
  expect(summarize(of())).toEqual({ last: null, lowest: null, highest: null });
  expect([-1, 0, 59, 60, 119, 120, 999].map((time) => valueAtTime(values, time))).toEqual([
    null,
    3,
    3,
    null,
    null,
    5,
    5,
  ]);
});

test("one value is nothing to draw, and a line breaks where there was none", () => {
  expect(isConstant(of(2, 2, 2))).toBe(true);
  expect(isConstant(of(2, 3))).toBe(false);
  expect(drawSpark(of(1, 2, null, 1, 1)).match(/M/g)).toHaveLength(2);
  expect(drawSpark(of(7))).toBe("M2.0 16.0");
});

test("a property holds to the end, telemetry does not, and texts are none", () => {
  const rows = [
    { time: "1970-01-01T00:00:05Z", value: 1 },
    { time: "1970-01-01T00:00:20Z", value: true },
    { time: "1970-01-01T00:00:25Z", value: "warm" },
    { time: "1970-01-01T00:00:30Z", value: 12345678901234567890n },
  ];
  const within = { from: 10, to: 60 };
  expect(buildValues(rows, "value", null, { ...within, holds: true })).toEqual({
    times: [10, 20, 30, 60],
    values: [1, 1, 12345678901234567000, 12345678901234567000],
    step: null,
    holds: true,
  });
  expect(buildValues(rows, "value", null, { ...within, holds: false }).times).toEqual([10, 20, 30]);
  expect(
    buildValues([{ time: "x", avg: 1 }], "avg", "5m", { ...within, holds: true }).times,
  ).toEqual([]);
});

test("the first moment that is kept is read out of the error", () => {
  const said =
    "The history of the graph does not go back so far. The first state that can be had is of " +
    "2026-03-01T14:05:00.0000000Z, position 1042.";
  expect(readFirstKept(said)).toBe("2026-03-01T14:05:00.0000000Z");
  expect(readFirstKept("The history is gone.")).toBeNull();
});

test("a file has a row of each time, in order, with a column of each series", () => {
  const shown = (twin: string, values: Values): ShownSeries => ({
    name: { twin, path: "climate/temperature" },
    twinName: twin === "r1" ? "Office" : twin,
    unit: twin === "r1" ? "degreeCelsius" : "",
    values,
    error: null,
    isLoading: false,
  });
  const late: Values = { times: [30], values: [7], step: null, holds: false };
  expect(joinSeries([shown("r1", of(1, 2)), shown("r2", late)])).toEqual([
    {
      time: "1970-01-01T00:00:00.000Z",
      "Office (r1) climate.temperature [degreeCelsius]": 1,
      "r2 climate.temperature": null,
    },
    {
      time: "1970-01-01T00:00:30.000Z",
      "Office (r1) climate.temperature [degreeCelsius]": null,
      "r2 climate.temperature": 7,
    },
    {
      time: "1970-01-01T00:01:00.000Z",
      "Office (r1) climate.temperature [degreeCelsius]": 2,
      "r2 climate.temperature": null,
    },
  ]);
});

test("a time that has passed is said in its two largest units", () => {
  expect([0, 5, 65, 3600, 7325, 90_000].map(writeDuration)).toEqual([
    "0 s",
    "5 s",
    "1 min 5 s",
    "1 h",
    "2 h 2 min",
    "1 d 1 h",
  ]);
});
