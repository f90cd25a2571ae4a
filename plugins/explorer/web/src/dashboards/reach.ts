import type { Json, JsonObject } from "../api/types";
import type { Change } from "../live/changes";
import { isObject, isRelationship, isTwin } from "../results/documents";
import { unquote } from "../query/context";
import { detectLanguage, tokenize, type Token } from "../query/tokens";

/** What of a graph a query reads, as far as its words tell; where in doubt, more than it does. */
export interface Reach {
  /** All names that it has, of properties and of all else. */
  names: ReadonlySet<string>;
  /** Whether it may read properties that it does not name. */
  isWide: boolean;
  hasRelationships: boolean;
  /** Whether it answers otherwise as time goes on, though nothing changes. */
  isTimed: boolean;
}

/** What reads all properties of a twin, or times that every change sets. */
const WIDE = new Set(["properties", "keys", "$etag", "$lastUpdateTime", "lastUpdateTime"]);
const TIMED = /^(?:(?:local)?(?:date)?time|timestamp|date)$/i;
const PATTERN = /-\[|\]-|--|->|<-/;

export function readReach(text: string): Reach {
  const language = detectLanguage(text);
  const words = tokenize(text, language).filter(
    ({ kind }) => kind !== "blank" && kind !== "comment",
  );
  const names = new Set(words.flatMap(readNames));
  const signs = words.map(({ kind, text: word }) => (kind === "symbol" ? word : " ")).join("");
  return {
    names,
    isWide: [...WIDE].some((one) => names.has(one)) || words.some((_, at) => isWideAt(words, at)),
    hasRelationships:
      language === "cypher" ? PATTERN.test(signs) : /\b(?:JOIN|RELATIONSHIPS)\b/i.test(text),
    isTimed: words.some(({ kind, text: word }) => kind === "function" && TIMED.test(word)),
  };
}

/** The names of a word; a text may be the path of a property, as that of `valueAt(n, 'a/b')`. */
function readNames({ kind, text }: Token): string[] {
  if (kind === "symbol" || kind === "number") return [];
  if (kind === "string") return text.slice(1, -1).split(/[/.]/);
  return [unquote(text)];
}

/** `n[name]`, `n {.*}`, and `$metadata` but for the model. */
function isWideAt(words: readonly Token[], at: number): boolean {
  const [before, word, next, last] = [words[at - 1], words[at], words[at + 1], words[at + 2]];
  const text = word === undefined ? "" : unquote(word.text);
  if (text === "$metadata") return !(next?.text === "." && unquote(last?.text ?? "") === "$model");
  if (text === "[") return before !== undefined && /^(?:name|quoted|property)$/.test(before.kind);
  return text === "*" && before?.text === ".";
}

/** Whether rows have whole twins or relationships, which change with any of their properties. */
export function holdsDocuments(rows: readonly JsonObject[]): boolean {
  // The rows of a query are alike: a few tell.
  return rows.slice(0, 20).some((row) => holds(row, 4));
}

function holds(value: Json | undefined, depth: number): boolean {
  if (isTwin(value) || isRelationship(value)) return true;
  if (depth === 0) return false;
  if (Array.isArray(value)) return value.slice(0, 20).some((one) => holds(one, depth - 1));
  return isObject(value) && Object.values(value).some((one) => holds(one, depth - 1));
}

/** Whether the rows of a query may be others after a change; `rows` are those it answered last. */
export function mayChange(reach: Reach, rows: readonly JsonObject[], change: Change): boolean {
  switch (change.kind) {
    case "telemetry":
      return false;
    case "model":
      return true;
    case "twin":
      return change.verb !== "update" || touches(reach, rows, change.paths);
    case "relationship":
      if (!reach.hasRelationships) return false;
      return change.verb !== "update" || touches(reach, rows, change.paths);
  }
}

function touches(reach: Reach, rows: readonly JsonObject[], paths: readonly string[]): boolean {
  // Without a path, nobody knows what was changed.
  if (reach.isWide || paths.length === 0 || holdsDocuments(rows)) return true;
  return paths.some((path) => {
    const [, first = ""] = path.split("/");
    const name = first.replaceAll("~1", "/").replaceAll("~0", "~");
    return name === "" || name === "$metadata" || reach.names.has(name);
  });
}
