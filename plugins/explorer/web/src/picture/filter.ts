import type { Json, JsonObject } from "../api/types";
import { isObject } from "../results/documents";

type Test = (texts: readonly string[], document: JsonObject | null) => boolean;

const CONDITION = /^([\w$.]+)\s*(>=|<=|!=|=|>|<|:)\s*(.*)$/;

/**
 * The test that a filter's words are: all have to hold. A word stands anywhere in the given texts;
 * `area>20`, `name=Hall`, `climate.mode:aut` (contains) ask a property. Quotes keep blanks.
 */
export function compileFilter(text: string): Test {
  const words = text.match(/(?:[^\s"]+|"[^"]*")+/g) ?? [];
  const tests = words.map((word) => compileWord(word.replaceAll('"', "")));
  return (texts, document) => tests.every((test) => test(texts, document));
}

function compileWord(word: string): Test {
  const lower = word.toLowerCase();
  const contained: Test = (texts) => texts.some((one) => one.toLowerCase().includes(lower));
  const [, path, operator, wanted] = CONDITION.exec(word) ?? [];
  // NOTE: DTMIs have colons: what reads like a condition may be a word as well.
  if (path === undefined || operator === undefined || wanted === undefined) return contained;
  return (texts, document) =>
    holds(readMember(document, path.split(".")), operator, wanted) ||
    (operator === ":" && contained(texts, document));
}

function readMember(document: JsonObject | null, path: readonly string[]): Json | undefined {
  let value: Json | undefined = document ?? undefined;
  for (const name of path) value = isObject(value) ? value[name] : undefined;
  return value;
}

function holds(value: Json | undefined, operator: string, wanted: string): boolean {
  if (value === undefined || value === null) return false;
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  if (operator === ":") return text.toLowerCase().includes(wanted.toLowerCase());
  const number = wanted.trim() === "" ? Number.NaN : Number(wanted);
  const order =
    typeof value === "number" && !Number.isNaN(number)
      ? value - number
      : text.toLowerCase().localeCompare(wanted.toLowerCase());
  if (operator === "=") return order === 0;
  if (operator === "!=") return order !== 0;
  if (operator === ">") return order > 0;
  if (operator === "<") return order < 0;
  return operator === ">=" ? order >= 0 : order <= 0;
}
