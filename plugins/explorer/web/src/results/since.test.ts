import { expect, test } from "vitest";

import type { Change } from "../live/changes";
import { Counter } from "./since";

function twin(at: number): Change {
  const time = new Date(at).toISOString();
  return { kind: "twin", verb: "update", id: "a", paths: ["/area"], time };
}

const BEGUN = 1_000_000;

test("changes of twins, relationships and models count, telemetry does not", () => {
  const counter = new Counter();
  counter.begin(BEGUN);
  const time = new Date(BEGUN + 5).toISOString();
  const lot: Change[] = [
    twin(BEGUN + 5),
    {
      kind: "relationship",
      verb: "delete",
      sourceId: "a",
      id: "r",
      targetId: null,
      paths: [],
      time,
    },
    { kind: "model", verb: "create", id: "dtmi:x:A;1", time },
    { kind: "telemetry", id: "a", component: null, values: { t: 1 }, time },
  ];
  expect(
    counter.count(
      lot,
      [20, 20, 21, 22].map((one) => BEGUN + one),
    ),
  ).toBe(3);
  expect(counter.count([], [])).toBe(0);
});

test.each([
  ["the same", 0],
  ["an hour ahead", 3_600_000],
  ["an hour behind", -3_600_000],
])("a change of before that comes late does not count, by a clock that is %s", (_which, skew) => {
  const counter = new Counter();
  counter.count([twin(BEGUN - 5000 + skew)], [BEGUN - 4990]); // 10 ms on its way
  counter.begin(BEGUN);
  expect(counter.count([twin(BEGUN - 40 + skew)], [BEGUN + 120])).toBe(0);
  expect(counter.count([twin(BEGUN + 40 + skew)], [BEGUN + 190])).toBe(1);
});

test("where nothing is known of the clocks, what is heard of after it counts", () => {
  const counter = new Counter();
  counter.begin(BEGUN);
  const lot = [twin(BEGUN - 7_200_050), twin(BEGUN - 7_199_950)];
  expect(counter.count(lot, [BEGUN - 50, BEGUN + 50])).toBe(1);
});

test("a clock that was set back hides changes for a while only", () => {
  const counter = new Counter();
  counter.count([twin(BEGUN - 10)], [BEGUN]);
  counter.begin(BEGUN + 200_000);
  expect(counter.count([twin(BEGUN + 201_000 - 3_600_000)], [BEGUN + 201_000])).toBe(1);
});
