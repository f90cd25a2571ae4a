import { renderJson } from "../api/json";
import type { Json, JsonObject } from "../api/types";
import { valueAt } from "../results/columns";

type Test = (texts: readonly string[], document: JsonObject | null) => boolean;

/** What a filter asks of a property. */
export interface Condition {
  /** Names, by dots; empty where none is written. */
  path: string;
  operator: string;
  wanted: string;
}

const CONDITION = /^([\w$.]+)(>=|<=|!=|=|>|<|:)(.*)$/;
const NAMELESS = /^()(>=|<=|!=|=|>|<)(.*)$/;

/**
 * The test that a filter's words are: all have to hold. A word stands anywhere in the given texts;
 * `area>20`, `name = Hall`, `climate.mode:aut` (contains) ask a property. Quotes keep blanks.
 */
export function compileFilter(text: string): Test {
  const tests = splitWords(text).map(compileWord);
  return (texts, document) => tests.every((test) => test(texts, document));
}

/** What a filter asks of properties, or would if it were written to its end. */
export function readConditions(text: string): Condition[] {
  return splitWords(text).flatMap((word) => {
    const condition = readCondition(word, CONDITION) ?? readCondition(word, NAMELESS);
    return condition === null ? [] : [condition];
  });
}

function splitWords(text: string): string[] {
  // Blanks around an operator are of its condition, other than in quotes.
  const parts = text.match(/"[^"]*"|[^"]+|"/g) ?? [];
  const joined = parts.map((part) =>
    part.startsWith('"') ? part : part.replace(/\s*(>=|<=|!=|=|>|<)\s*/g, "$1"),
  );
  const words = joined.join("").match(/(?:[^\s"]+|"[^"]*")+/g) ?? [];
  return words.map((word) => word.replaceAll('"', ""));
}

function readCondition(word: string, pattern: RegExp): Condition | null {
  const [, path, operator, wanted] = pattern.exec(word) ?? [];
  if (path === undefined || operator === undefined || wanted === undefined) return null;
  return { path, operator, wanted };
}

function compileWord(word: string): Test {
  const lower = word.toLowerCase();
  const contained: Test = (texts) => texts.some((one) => one.toLowerCase().includes(lower));
  const condition = readCondition(word, CONDITION);
  // NOTE: DTMIs have colons: what reads like a condition may be a word as well.
  if (condition === null) return contained;
  const { path, operator, wanted } = condition;
  return (texts, document) =>
    holds(document === null ? undefined : valueAt(document, path.split(".")), operator, wanted) ||
    (operator === ":" && contained(texts, document));
}

function holds(value: Json | undefined, operator: string, wanted: string): boolean {
  if (value === undefined || value === null) return false;
  const text = typeof value === "string" ? value : renderJson(value);
  if (operator === ":") return text.toLowerCase().includes(wanted.toLowerCase());
  const order = orderOf(value, wanted) ?? text.toLowerCase().localeCompare(wanted.toLowerCase());
  if (operator === "=") return order === 0;
  if (operator === "!=") return order !== 0;
  if (operator === ">") return order > 0;
  if (operator === "<") return order < 0;
  return operator === ">=" ? order >= 0 : order <= 0;
}

/** How a number stands to the one that is wanted; null where either is none. */
function orderOf(value: Json, wanted: string): number | null {
  if (typeof value !== "number" && typeof value !== "bigint") return null;
  // Whole numbers are compared exactly, however large they are.
  const other = /^-?\d+$/.test(wanted) ? BigInt(wanted) : Number(wanted || NaN);
  if (Number.isNaN(other)) return null;
  return value < other ? -1 : value > other ? 1 : 0;
}
