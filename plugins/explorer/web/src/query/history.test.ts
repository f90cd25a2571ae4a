import fc from "fast-check";
import { expect, test } from "vitest";

import { addEntry, addSaved, HISTORY_LIMIT, parseSaved, readHistory, readSaved } from "./history";

const OUTCOME = { rows: 3, more: false, milliseconds: 12 };

test("the newest run stands in front, and a query that is run again moves there", () => {
  let history = addEntry([], "A", "", OUTCOME, "2026-01-01T00:00:00Z");
  history = addEntry(history, "B", "", OUTCOME, "2026-01-02T00:00:00Z");
  history = addEntry(history, "A", "", { ...OUTCOME, rows: 5 }, "2026-01-03T00:00:00Z");
  expect(history.map((one) => [one.text, one.rows])).toEqual([
    ["A", 5],
    ["B", 3],
  ]);
});

test("the same text with other parameters is another query", () => {
  const history = addEntry([], "A", "{}", OUTCOME, "2026-01-01T00:00:00Z");
  expect(addEntry(history, "A", '{"x":1}', OUTCOME, "2026-01-02T00:00:00Z")).toHaveLength(2);
});

test("the history is bounded", () => {
  let history = addEntry([], "0", "", OUTCOME, "2026-01-01T00:00:00Z");
  for (let at = 1; at <= HISTORY_LIMIT + 5; at++) {
    history = addEntry(history, String(at), "", OUTCOME, "2026-01-01T00:00:00Z");
  }
  expect(history).toHaveLength(HISTORY_LIMIT);
  expect(history[0]?.text).toBe(String(HISTORY_LIMIT + 5));
});

test("what is written is read again, whatever else is in the storage is left out", () => {
  const history = addEntry([], "A", '{"x":1}', OUTCOME, "2026-01-01T00:00:00Z");
  expect(readHistory(JSON.parse(JSON.stringify(history)))).toEqual(history);
  fc.assert(
    fc.property(fc.jsonValue(), (stored) => {
      for (const one of readHistory(stored)) expect(typeof one.text).toBe("string");
      for (const one of readSaved(stored)) expect(one.name).not.toBe("");
    }),
  );
});

test("saved queries are in the order of their names, one of a name", () => {
  let saved = addSaved([], { name: "b", text: "1", parameters: "" });
  saved = addSaved(saved, { name: "a", text: "2", parameters: "" });
  saved = addSaved(saved, { name: "b", text: "3", parameters: "" });
  expect(saved.map((one) => `${one.name}${one.text}`)).toEqual(["a2", "b3"]);
  expect(parseSaved(JSON.stringify(saved))).toEqual(saved);
});

test("a file that holds no saved queries is refused with what it should be", () => {
  expect(() => parseSaved("{")).toThrow(/no JSON/);
  expect(() => parseSaved('[{"name": 1}]')).toThrow(/holds no saved query/);
});
