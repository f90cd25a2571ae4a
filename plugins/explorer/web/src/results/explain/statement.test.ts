import { StringStream } from "@codemirror/language";
import fc from "fast-check";
import { expect, test } from "vitest";

import { readPiece } from "./statement";

/** The pieces of a line that have a colour. */
function colored(line: string): [string, string][] {
  const found: [string, string][] = [];
  const stream = new StringStream(line, 2, 2);
  while (!stream.eol()) {
    stream.start = stream.pos;
    const kind = readPiece(stream);
    if (stream.pos === stream.start) throw new Error(`It stands at ${stream.pos} of ${line}`);
    if (kind !== null) found.push([kind, stream.current()]);
  }
  return found;
}

test("words, texts and numbers of a statement are told apart", () => {
  expect(colored("select t.\"order\", 'it''s' FROM twins t WHERE t.x1 <= 1.5e3 -- WHERE")).toEqual([
    ["keyword", "select"],
    ["string", "'it''s'"],
    ["keyword", "FROM"],
    ["keyword", "WHERE"],
    ["number", "1.5e3"],
    ["comment", "-- WHERE"],
  ]);
  expect(colored("OPTIONAL { ?in <urn:x:in> :in } FILTER(?a < 3 && ?b > 4)")).toEqual([
    ["keyword", "OPTIONAL"],
    ["string", "<urn:x:in>"],
    ["keyword", "FILTER"],
    ["number", "3"],
    ["number", "4"],
  ]);
});

test("any line is read to its end", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (line) => void colored(line)));
});
