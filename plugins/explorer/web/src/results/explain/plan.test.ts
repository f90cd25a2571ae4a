import fc from "fast-check";
import { expect, test } from "vitest";

import { isExplanation, listOperators, readExplained, readSteps, readTree, wrap } from "./plan";

const OPERATORS = [
  { operator: "Result", arguments: "a, n", children: [1], part: null },
  { operator: "Union", arguments: "", children: [2, 3], part: null },
  { operator: "Match", arguments: "node (a)\nwhere (a.x > 1)", children: [4], part: 0 },
  { operator: "Match", arguments: "node (b)", children: [], part: 1 },
  { operator: "Unit", arguments: "", children: [], part: 0 },
];
const ROW = {
  plan: "Result a, n\n  Union",
  pushed: [{ engine: "sqlite", plan: "Match", statement: "SELECT 1", indexes: ["twin_model"] }],
  operators: OPERATORS,
};

test("the row of EXPLAIN is told from rows that have a column of that name", () => {
  expect(isExplanation(ROW)).toBe(true);
  expect(isExplanation({ plan: "basic" })).toBe(false);
  expect(isExplanation(undefined)).toBe(false);
});

test("the flat list becomes a tree with the parts that run each operator", () => {
  const explained = readExplained(ROW, "EXPLAIN x", 3);
  expect(explained.root).toEqual({
    operator: "Result",
    arguments: ["a, n"],
    part: null,
    children: [
      {
        operator: "Union",
        arguments: [],
        part: null,
        children: [
          {
            operator: "Match",
            arguments: ["node (a)", "where (a.x > 1)"],
            part: 0,
            children: [{ operator: "Unit", arguments: [], part: 0, children: [] }],
          },
          { operator: "Match", arguments: ["node (b)"], part: 1, children: [] },
        ],
      },
    ],
  });
  expect(listOperators(explained.root).map((one) => one.operator)).toEqual([
    "Result",
    "Union",
    "Match",
    "Unit",
    "Match",
  ]);
});

test("the steps of a statement lead to the last of them", () => {
  const rows = [
    { step: "Read", plan: "Match\n  node (n)" },
    { step: "Set", plan: "n.x = 1" },
  ];
  const explained = readSteps(rows, "EXPLAIN x", 3);
  expect(explained?.text).toBe("Read\n  Match\n    node (n)\nSet\n  n.x = 1");
  expect(explained?.root).toMatchObject({
    operator: "Set",
    arguments: ["n.x = 1"],
    children: [{ operator: "Read", arguments: ["Match", "  node (n)"], children: [] }],
  });
  expect(readSteps([], "EXPLAIN x", 3)).toBeNull();
  expect(readSteps([{ plan: "basic" }], "EXPLAIN x", 3)).toBeNull();
});

test("what a run did stands with the operators and the whole", () => {
  const operators = OPERATORS.map((one, at) => ({
    ...one,
    rows: at === 0 ? 1200 : one.part,
    milliseconds: at === 0 ? 0.0421 : one.part === null ? null : 1234.567,
    note: at === 1 ? "Unknown." : null,
  }));
  const ran = { ...ROW, operators, engine: "sqlite", rows: 1200, milliseconds: 2 };
  const { root, run } = readExplained(ran, "PROFILE x", 3);
  expect(run).toBe("1,200 rows · 2 ms by sqlite");
  expect(listOperators(root).map(({ figures, note }) => [figures, note])).toEqual([
    ["1,200 rows · 0.0421 ms", undefined],
    ["? rows", "Unknown."],
    ["0 rows · 1,230 ms", undefined],
    ["0 rows · 1,230 ms", undefined],
    ["1 row · 1,230 ms", undefined],
  ]);
  expect(readExplained(ROW, "EXPLAIN x", 3).run).toBeUndefined();
});

test("a list that is no tree still ends", () => {
  const operator = fc.record({
    operator: fc.string(),
    arguments: fc.string(),
    children: fc.array(fc.integer({ min: -1, max: 8 })),
    part: fc.constant(null),
  });
  fc.assert(
    fc.property(fc.array(operator, { maxLength: 8 }), (operators) => {
      const all = listOperators(readTree(operators));
      expect(all.length).toBeLessThanOrEqual(Math.max(1, operators.length));
    }),
  );
});

test("long lines are wrapped at blanks, and cut where they would be too many", () => {
  expect(wrap("Project a, b, c", 8, 3)).toEqual(["Project", "a, b, c"]);
  expect(wrap("xxxxxxxxxxxxxxxxxxxx", 8, 2)).toEqual(["xxxxxxxx", "xxxxxxx…"]);
  expect(wrap("", 8, 2)).toEqual([""]);
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 3, max: 30 }), (text, width) => {
      for (const line of wrap(text, width, 4)) expect(line.length).toBeLessThanOrEqual(width);
    }),
  );
});
