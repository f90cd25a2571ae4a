import fc from "fast-check";
import { expect, test } from "vitest";

import type { JsonObject } from "../api/types";
import { CsvWriter } from "./csv";

function csv(pages: JsonObject[][], options = { spread: false, guard: false }): string {
  const writer = new CsvWriter(options);
  pages.forEach((page) => writer.add(page));
  return writer.parts().join("");
}

/** Reads CSV as RFC 4180 says it. */
function parse(text: string): string[][] {
  const lines: string[][] = [[]];
  let at = 0;
  while (at < text.length) {
    let field = "";
    if (text[at] === '"') {
      for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
        if (text[at] === '"') at++;
        field += text[at];
      }
      at++;
    } else {
      while (at < text.length && text[at] !== "," && !text.startsWith("\r\n", at))
        field += text[at++];
    }
    lines.at(-1)?.push(field);
    if (text[at] === ",") {
      at++;
      if (at === text.length || text.startsWith("\r\n", at)) lines.at(-1)?.push("");
    }
    if (text.startsWith("\r\n", at)) {
      at += 2;
      if (at < text.length) lines.push([]);
    }
  }
  return lines;
}

test("rows are lines, nested values JSON, missing ones empty", () => {
  expect(csv([[{ a: 1, b: "x" }, { a: { c: [true] } }]])).toBe(
    'a,b\r\n1,x\r\n"{""c"":[true]}",\r\n',
  );
});

test("whole numbers are exact, nested ones too", () => {
  expect(csv([[{ a: 9223372036854775807n, b: [9007199254740993n, 1e19] }]])).toBe(
    'a,b\r\n9223372036854775807,"[9007199254740993,1e+19]"\r\n',
  );
});

test("a column that comes with a later page fills the lines before it", () => {
  expect(csv([[{ a: 1 }], [{ a: 2, b: 3 }]])).toBe("a,b\r\n1,\r\n2,3\r\n");
});

test("members are columns of their own when they are spread, and nothing is written twice", () => {
  const text = csv([[{ n: { x: 1 } }], [{ n: 5 }]], { spread: true, guard: false });
  expect(parse(text)).toEqual([
    ["n.x", "n"],
    ["1", ""],
    ["", "5"],
  ]);
});

test("a member and a value of the same name are columns that are told apart", () => {
  const rows = [[{ r: { $dtId: "a", name: "A" }, "r.name": "B", "r.name (2)": "C" }]];
  expect(parse(csv(rows, { spread: true, guard: false }))).toEqual([
    ["r.$dtId", "r.name", "r.name (3)", "r.name (2)"],
    ["a", "A", "B", "C"],
  ]);
});

test("formulas are guarded where that is asked for, and only texts are", () => {
  const rows = [[{ a: "=1+1", b: -5, c: "@x", d: "plain" }]];
  expect(csv(rows, { spread: false, guard: true })).toBe("a,b,c,d\r\n'=1+1,-5,'@x,plain\r\n");
  expect(csv(rows)).toContain("=1+1");
});

test("whatever the texts are, a reader of CSV gets them back, as many in each line", () => {
  const text = fc.string({ unit: fc.constantFrom("a", '"', ",", "\r", "\n", " ", "=", "é") });
  const row = fc.record({ a: text, b: text }, { requiredKeys: ["a"] });
  fc.assert(
    fc.property(fc.array(row, { minLength: 1 }), fc.array(row), (first, second) => {
      const lines = parse(csv([first, second]));
      const names = lines[0] ?? [];
      const wanted = [...first, ...second].map((one) =>
        names.map((name) => (one as Record<string, string | undefined>)[name] ?? ""),
      );
      expect(lines.slice(1)).toEqual(wanted);
    }),
  );
});
