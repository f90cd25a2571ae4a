import { parseJson, renderJson } from "../api/json";
import type { Json, JsonObject } from "../api/types";
import { unquote } from "./context";
import { detectLanguage, tokenize } from "./tokens";

/** The parameters as written, or what is wrong with them. */
export type Parameters = { value: JsonObject; error: null } | { value: null; error: string };

/** Reads what is written in the field; nothing is no parameters. */
export function readParameters(written: string): Parameters {
  if (written.trim() === "") return { value: {}, error: null };
  let value: Json;
  try {
    value = parseJson(written);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { value: null, error: `The parameters are no JSON: ${error.message}` };
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    return {
      value: null,
      error: 'The parameters must be an object of names and values, such as {"floor": 2}.',
    };
  }
  return { value, error: null };
}

/** The names of the parameters that a text uses, each once. The vendor's language has none. */
export function usedParameters(text: string): string[] {
  if (detectLanguage(text) === "adt") return [];
  const names = tokenize(text, "cypher")
    .filter((one) => one.kind === "parameter" && one.text.length > 1)
    .map((one) => unquote(one.text.slice(1)));
  return [...new Set(names)];
}

/** The parameters as JSON with those that are missing, as null to be filled in. */
export function withMissing(value: JsonObject, missing: string[]): string {
  return renderJson({ ...value, ...Object.fromEntries(missing.map((name) => [name, null])) }, 2);
}
