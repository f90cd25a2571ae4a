import fc from "fast-check";
import { expect, test } from "vitest";

import { offsetOf, rangeAt, readPlace } from "./place";

test("an error of Cypher says line and column, and shows the line again", () => {
  const message =
    "SyntaxError: UnexpectedSyntax at line 2, column 14: unexpected RETURN, expected ')'\n" +
    "MATCH (a:Rom RETURN a\n             ^";
  expect(readPlace(message)).toEqual({
    line: 2,
    column: 14,
    text: "unexpected RETURN, expected ')'",
  });
});

test("an error of the vendor's language counts positions from 0", () => {
  const message =
    "SQL query parse failed: SQL Parser Error, Line=1, Position=43, Message=mismatched input";
  expect(readPlace(message)).toEqual({ line: 1, column: 44, text: "mismatched input" });
});

test("what stands elsewhere in a message is taken for no place", () => {
  expect(readPlace("No twin 'X: Y at line 1, column 2: z'.")).toBeNull();
  expect(readPlace("TypeError: InvalidArgument: x")).toBeNull();
});

test("an offset counts characters as the service does", () => {
  const text = "MATCH (n)\nRETURN '😀', n.x";
  expect(text.slice(offsetOf(text, { line: 2, column: 13 }))).toBe("n.x");
  expect(text.slice(offsetOf(text, { line: 2, column: 12 }))).toBe(" n.x");
  expect(offsetOf(text, { line: 1, column: 1 })).toBe(0);
});

test("the word at the place is underlined, at the end the last one's end", () => {
  expect(rangeAt("MATCH (a:Rom)", 9)).toEqual({ from: 9, to: 12 });
  expect(rangeAt("RETURN `a b`", 7)).toEqual({ from: 7, to: 12 });
  expect(rangeAt("RETURN  ", 8)).toEqual({ from: 5, to: 6 });
});

test("whatever the service says, the place is within the text and not empty", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", minLength: 1 }),
      fc.integer(),
      fc.integer(),
      (text, line, column) => {
        const offset = offsetOf(text, { line, column });
        const { from, to } = rangeAt(text, offset);
        expect(from).toBeGreaterThanOrEqual(0);
        expect(to).toBeLessThanOrEqual(text.length);
        expect(to).toBeGreaterThan(from);
      },
    ),
  );
});
