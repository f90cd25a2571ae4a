import { expect, test } from "vitest";

import { ApiError } from "../api/errors";
import type { GraphClient } from "../api/graph";
import { readSparks } from "./read";
import { readStep } from "./request";
import { isConstant } from "./values";

const HOUR = 3_600_000;

interface Held {
  at: number;
  value: number;
}

/** Answers as the service does: steps of the clock, of what held, since the history begins. */
function build(held: readonly Held[]): { graph: GraphClient; looks: number[] } {
  const looks: number[] = [];
  const first = held[0]?.at ?? 0;
  const query = (_text: string, { parameters = {} }: { parameters?: Record<string, unknown> }) => {
    const [from, to] = [
      Date.parse(String(parameters["from"])),
      Date.parse(String(parameters["to"])),
    ];
    if (from < first) {
      const kept = `is of ${new Date(first).toISOString()}, position 1.`;
      return Promise.reject(new ApiError(410, "HistoryNotKept", `The first state ${kept}`));
    }
    const step = readStep(String(parameters["every"])) ?? 0;
    looks.push(step);
    const rows = [];
    for (let at = Math.floor(from / step) * step; at < to; at += step) {
      const within = held.filter((one) => one.at < at + step).slice(-3);
      const sum = within.reduce((total, one) => total + one.value, 0);
      rows.push({ time: new Date(at).toISOString(), value: sum / within.length });
    }
    return Promise.resolve({ value: [{ s0: rows }] });
  };
  return { graph: { query } as unknown as GraphClient, looks };
}

test("what changed some seconds ago has a line, in whichever step of the clock it is", async () => {
  for (const second of [20, 58, 1799]) {
    const to = Date.parse("2026-03-01T10:00:00Z") + second * 1000;
    const held = [20, 22, 24, 25].map((value, at) => ({ at: to - 12_000 + at * 3000, value }));
    const { graph, looks } = build(held);
    const found = await readSparks(graph, "a", ["temperature"], { from: to - 24 * HOUR, to });
    const values = found.get("temperature");
    expect(values !== undefined && !isConstant(values)).toBe(true);
    expect(looks.length).toBeLessThanOrEqual(4);
  }
});

test("what has values for long is asked for once", async () => {
  const to = Date.parse("2026-03-01T10:00:20Z");
  const held = Array.from({ length: 96 }, (_, at) => ({ at: to - (96 - at) * HOUR, value: at }));
  const { graph, looks } = build(held);
  await readSparks(graph, "a", ["temperature"], { from: to - 24 * HOUR, to });
  expect(looks).toEqual([HOUR / 2]);
});
