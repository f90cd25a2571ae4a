import fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  askForPlan,
  asksForPlan,
  detectLanguage,
  findKind,
  tokenize,
  type QueryLanguage,
} from "./tokens";

function kinds(text: string, language: QueryLanguage = "cypher"): string[] {
  return tokenize(text, language)
    .filter((one) => one.kind !== "blank")
    .map((one) => `${one.kind} ${one.text}`);
}

describe("a text of Cypher", () => {
  test("has keywords, labels, properties and functions", () => {
    expect(kinds("MATCH (r:Room)-[c:`has it`|in]->() WHERE toLower(r.name) = $x")).toEqual([
      "keyword MATCH",
      "symbol (",
      "name r",
      "symbol :",
      "label Room",
      "symbol )",
      "symbol -",
      "symbol [",
      "name c",
      "symbol :",
      "label `has it`",
      "symbol |",
      "label in",
      "symbol ]",
      "symbol -",
      "symbol >",
      "symbol (",
      "symbol )",
      "keyword WHERE",
      "function toLower",
      "symbol (",
      "name r",
      "symbol .",
      "property name",
      "symbol )",
      "symbol =",
      "parameter $x",
    ]);
  });

  test("may have properties that are named as keywords", () => {
    expect(kinds("t.order, t.`$dtId`, t.$etag")).toContain("property order");
    expect(kinds("t.$etag")).toContain("property $etag");
    expect(kinds("t.`$dtId`")).toContain("property `$dtId`");
  });

  test("has maps, whose values are no labels", () => {
    expect(kinds("(n:Room {a: b, `c`: d})").filter((one) => one.startsWith("label"))).toEqual([
      "label Room",
    ]);
    expect(kinds("EXISTS { (n:Room)-->(m:Door) WHERE m:Gate }")).toContain("label Gate");
  });

  test("has strings and comments over several lines", () => {
    expect(kinds("RETURN 'a\nMATCH' /* x\n'y' */, \"it\\\"s\" // end")).toEqual([
      "keyword RETURN",
      "string 'a\nMATCH'",
      "comment /* x\n'y' */",
      "symbol ,",
      'string "it\\"s"',
      "comment // end",
    ]);
  });

  test("counts rows with a function and asks for existence with a keyword", () => {
    expect(kinds("count(*)")[0]).toBe("function count");
    expect(kinds("EXISTS { (a) }")[0]).toBe("keyword EXISTS");
  });
});

test("a text of the vendor's language has its own keywords and quoted names", () => {
  expect(kinds("select T.[[a b]] from digitaltwins T where T.$dtId = 'x'", "adt")).toEqual([
    "keyword select",
    "name T",
    "symbol .",
    "quoted [[a b]]",
    "keyword from",
    "keyword digitaltwins",
    "name T",
    "keyword where",
    "name T",
    "symbol .",
    "property $dtId",
    "symbol =",
    "string 'x'",
  ]);
});

test("the language is told by the first word", () => {
  expect(detectLanguage("select * FROM digitaltwins")).toBe("adt");
  expect(detectLanguage("// SELECT\nMATCH (n)")).toBe("cypher");
  expect(detectLanguage("/* a\nb */ explain SELECT 1")).toBe("adt");
  expect(detectLanguage("selection")).toBe("cypher");
  expect(detectLanguage("")).toBe("cypher");
  expect(detectLanguage("PROFILE SELECT 1")).toBe("adt");
  expect(asksForPlan("// x\n explain MATCH")).toBe(true);
  expect(asksForPlan("profile MATCH")).toBe(true);
  expect(asksForPlan("explained")).toBe(false);
});

test.each([
  ["MATCH (n) RETURN n", "reads"],
  ["MATCH (set) WHERE set.create = 1 RETURN set", "reads"],
  ["MATCH (n) RETURN n AS delete ORDER BY delete", "reads"],
  ["RETURN {set: 1, merge: 'CREATE (n)'} // SET n.x = 1", "reads"],
  ["MATCH (n:Create)-[:SET|MERGE]->() RETURN n", "reads"],
  ["SELECT * FROM digitaltwins T WHERE T.set = 1", "reads"],
  ["CALL { MATCH (n) RETURN n } RETURN n", "reads"],
  ["CALL db.labels() YIELD label RETURN label", "calls"],
  ["call db.labels", "calls"],
  ["CREATE (n:Room)", "writes"],
  ["EXPLAIN MERGE (n:Room)", "writes"],
  ["MATCH (n) detach delete n", "writes"],
  ["MATCH (n) WITH * SET n.x = 1", "writes"],
  ["MATCH (n) WHERE n.x = $p SET n.x = 1", "writes"],
  ["MATCH (n) CALL (n) { SET n.x = 1 } IN TRANSACTIONS", "writes"],
  ["MERGE (n:A {`$dtId`: 'x'}) ON CREATE SET n.x = 1", "writes"],
  ["MATCH (n) WHERE n.x IS NULL\nREMOVE n.y", "writes"],
])("of %s it is told whether it writes", (text, kind) => {
  expect(findKind(text)).toBe(kind);
});

test("a text asks for its plan by one word, whatever stands there, and its columns stay", () => {
  expect(askForPlan("MATCH (n)", "PROFILE")).toBe("PROFILE\nMATCH (n)");
  expect(askForPlan("/* PROFILE */ profile\n MATCH (n)", "EXPLAIN")).toBe(
    "/* PROFILE */ EXPLAIN\n MATCH (n)",
  );
});

test("the pieces of any text, put together, are the text, and each moves on", () => {
  const words = fc.constantFrom(
    "MATCH",
    "'",
    '"',
    "`",
    "/*",
    "*/",
    "//",
    "\n",
    "\\",
    "$x",
    "é",
    "😀",
    " ",
  );
  const text = fc.array(fc.oneof(words, fc.string({ unit: "binary" }))).map((all) => all.join(""));
  fc.assert(
    fc.property(text, fc.constantFrom<QueryLanguage>("cypher", "adt"), (one, language) => {
      const tokens = tokenize(one, language);
      expect(tokens.map((token) => token.text).join("")).toBe(one);
      let at = 0;
      for (const token of tokens) {
        expect(token.from).toBe(at);
        expect(token.to).toBeGreaterThan(at);
        at = token.to;
      }
    }),
    { numRuns: 300 },
  );
});
