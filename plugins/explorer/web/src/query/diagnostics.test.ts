import { expect, test } from "vitest";

import { ApiError } from "../api/errors";
import type { QueryWarning } from "../api/types";
import { applySuggestion, buildDiagnostics } from "./diagnostics";

const WARNING: QueryWarning = {
  code: "UnknownLabel",
  message: "No stored model knows the label 'Rom'; did you mean 'Room'?",
  line: 1,
  column: 10,
  suggestion: "Room",
};

test("an error is underlined where it says it is", () => {
  const error = new ApiError(
    400,
    "SqlQueryError",
    "SyntaxError: UnexpectedSyntax at line 1, column 14: unexpected RETURN\nMATCH (a:Rom RETURN a\n             ^",
  );
  const [found] = buildDiagnostics({ text: "MATCH (a:Rom RETURN a", error, warnings: [] });
  expect(found).toMatchObject({
    from: 13,
    to: 19,
    severity: "error",
    message: "unexpected RETURN",
  });
});

test("what was put in front of the text moves nothing", () => {
  const warning = { ...WARNING, line: 2 };
  const text = "EXPLAIN\nMATCH (r:Rom) RETURN r";
  const [found] = buildDiagnostics({ text, prefix: 8, error: null, warnings: [warning] });
  expect(found).toMatchObject({ from: 9, to: 12 });
});

test("an error without a place is underlined nowhere", () => {
  const error = new ApiError(503, "StorageBusy", "Too many queries wait.");
  expect(buildDiagnostics({ text: "MATCH (n) RETURN n", error, warnings: [] })).toEqual([]);
});

test("a warning is underlined and offers its suggestion", () => {
  const text = "MATCH (r:Rom) RETURN r";
  const [found] = buildDiagnostics({ text, error: null, warnings: [WARNING] });
  expect(found).toMatchObject({ from: 9, to: 12, severity: "warning" });
  expect(found?.actions?.map((one) => one.name)).toEqual(["Replace by Room"]);
  expect(applySuggestion(text, WARNING)).toBe("MATCH (r:Room) RETURN r");
});

test("a suggestion keeps the quotes of what it replaces, or brings those it needs", () => {
  expect(applySuggestion("MATCH (r:`Rom`)", WARNING)).toBe("MATCH (r:`Room`)");
  expect(applySuggestion("MATCH (r:Rom)", { ...WARNING, suggestion: "My Room" })).toBe(
    "MATCH (r:`My Room`)",
  );
  const model = { ...WARNING, column: 5, suggestion: "dtmi:x:Room;1" };
  expect(applySuggestion("F(T,'dtmi:x:Rom;1')", model)).toBe("F(T,'dtmi:x:Room;1')");
});

test("a warning without a suggestion has no fix and changes nothing", () => {
  const plain = { ...WARNING, suggestion: null };
  expect(
    buildDiagnostics({ text: "MATCH (r:Rom)", error: null, warnings: [plain] })[0]?.actions,
  ).toEqual([]);
  expect(applySuggestion("MATCH (r:Rom)", plain)).toBe("MATCH (r:Rom)");
});
