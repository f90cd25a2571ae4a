import { StreamLanguage, type StringStream } from "@codemirror/language";

// The words that stores are given, in SQL as in SPARQL.
const WORDS = new Set(
  (
    "ALL AND AS ASC ASK BASE BETWEEN BIND BY CASE CAST COLLATE CONSTRUCT CROSS DESC DISTINCT ELSE " +
    "END ESCAPE EXCEPT EXISTS FALSE FILTER FROM FULL GLOB GRAPH GROUP HAVING IN INDEXED INNER " +
    "INTERSECT IS ISNULL JOIN LEFT LIKE LIMIT MATERIALIZED MINUS NATURAL NOT NOTNULL NULL OFFSET " +
    "ON OPTIONAL OR ORDER OUTER OVER PARTITION PREFIX RECURSIVE REDUCED RIGHT SELECT SERVICE " +
    "THEN TRUE UNDEF UNION USING VALUES WHEN WHERE WINDOW WITH"
  ).split(" "),
);

// What a piece of a statement is; the first that fits, null is plain text.
const PIECES: readonly [RegExp, string | null][] = [
  [/^\s+/, null],
  [/^(?:--.*|\/\*.*?\*\/)/, "comment"],
  [/^'(?:[^']|'')*'?/, "string"],
  [/^(?:"(?:[^"]|"")*"?|`[^`]*`?)/, null],
  [/^<[^<>\s"{}|^`]+:[^<>\s"{}|^`]*>/, "string"], // an IRI
  [/^(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/i, "number"],
  [/^[?:@$]\w+/, null],
];

/** The kind of the piece that a stream stands at, and past it. */
export function readPiece(stream: StringStream): string | null {
  for (const [pattern, kind] of PIECES) if (stream.match(pattern)) return kind;
  if (!stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u)) stream.next();
  return WORDS.has(stream.current().toUpperCase()) ? "keyword" : null;
}

/**
 * Colours for what a store is given to run; not to be written in. PERF: a grammar of SQL with the
 * words of every dialect would be 1 % of the page.
 */
export const STATEMENT = StreamLanguage.define({ name: "statement", token: readPiece });
