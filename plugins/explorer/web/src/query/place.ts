/** A place in a text: line and column from 1, as the service counts (in characters, not UTF-16). */
export interface Place {
  line: number;
  column: number;
}

// SPEC: the two forms of SqlQueryError: that of Cypher, and that of the vendor's language, whose
// positions count from 0. Both are anchored, so that what the user wrote is never taken for one.
const CYPHER = /^\w+: \w+ at line (\d+), column (\d+): ([^]*)$/;
const ADT =
  /^SQL query parse failed: SQL Parser Error, Line=(\d+), Position=(\d+), Message=([^]*)$/;

/** Where an error of a query says that it is, and the rest of its words; null: it says no place. */
export function readPlace(message: string): (Place & { text: string }) | null {
  const cypher = CYPHER.exec(message);
  if (cypher !== null) {
    const [, line, column, text = ""] = cypher;
    return { line: Number(line), column: Number(column), text: withoutExcerpt(text) };
  }
  const adt = ADT.exec(message);
  if (adt === null) return null;
  const [, line, position, text = ""] = adt;
  return { line: Number(line), column: Number(position) + 1, text };
}

/** The last two lines show the source and a caret, which the editor shows itself. */
function withoutExcerpt(text: string): string {
  const lines = text.split("\n");
  return lines.length > 2 && lines.at(-1)?.trim() === "^" ? lines.slice(0, -2).join("\n") : text;
}

/** The offset of a place, within the text whatever the place says. */
export function offsetOf(text: string, place: Place): number {
  const lines = text.split("\n");
  const row = Math.min(Math.max(place.line, 1), lines.length) - 1;
  const start = lines.slice(0, row).reduce((sum, line) => sum + line.length + 1, 0);
  // NOTE: a character beyond the basic plane is one of the service's and two of JavaScript's.
  const characters = [...(lines[row] ?? "")].slice(0, Math.max(place.column - 1, 0));
  return start + characters.join("").length;
}

const WORD = /[\p{L}\p{N}_$]+|`[^`]*`|\[\[[^\]]*\]\]|'[^'\n]*'|"[^"\n]*"|\S/uy;

/** What to underline at an offset: the word that begins there, at the end the last character. */
export function rangeAt(text: string, offset: number): { from: number; to: number } {
  WORD.lastIndex = offset;
  const word = WORD.exec(text)?.[0];
  if (word !== undefined) return { from: offset, to: offset + word.length };
  const from = text.slice(0, offset).trimEnd().length;
  return { from: Math.max(0, from - 1), to: Math.max(from, Math.min(1, text.length)) };
}
