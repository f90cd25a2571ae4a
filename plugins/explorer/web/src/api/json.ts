/**
 * JSON with exact whole numbers. It knows nothing of what documents mean.
 *
 * A JavaScript number holds whole ones exactly up to 2^53 - 1 only, while the service has 64 bits:
 * those beyond are bigints here. What is written with a fraction or an exponent is a double in the
 * service too, and a number here.
 */
import { parse, stringify, type NumberStringifier } from "lossless-json";

import type { Json } from "./types";

const WHOLE = /^-?\d+$/;

// PERF: the browser's own parser is five times as fast, and right unless a text looks so: with a
// number of 16 digits, or an exponent of three by which one may be too large.
const DELICATE = /(?:^|[\s:,[])-?(?:\d{16}|\d[\d.]*[eE]\+?\d{3})/;

/** The value of a JSON text. Throws a `SyntaxError` that says what is wrong and where. */
export function parseJson(text: string): Json {
  if (!DELICATE.test(text)) return JSON.parse(text) as Json;
  return parse(text, null, {
    parseNumber: readNumber,
    // As the browser's own: of members of one name the last one counts.
    onDuplicateKey: ({ newValue }) => newValue,
  }) as Json;
}

/** A number as JSON writes it; a bigint where a whole one is not exact otherwise. */
function readNumber(text: string): number | bigint {
  const value = Number(text);
  if (WHOLE.test(text)) return Number.isSafeInteger(value) ? value : BigInt(text);
  if (Number.isFinite(value)) return value;
  throw new SyntaxError(
    `The number ${text} is too large; a double has up to about ${Number.MAX_VALUE}`,
  );
}

/** The JSON text of a value, indented by so many blanks; `replace` as `JSON.stringify` knows it. */
export function renderJson(
  value: Json | object,
  indent = 0,
  replace?: (name: string, member: unknown) => unknown,
): string {
  // PERF: as above; to look for what needs care costs a fifth of writing it.
  if (!isDelicate(value)) return JSON.stringify(value, replace, indent);
  return stringify(value, replace, indent, [WIDE_DOUBLE]) ?? "null";
}

// NOTE: JavaScript writes 1e19 as 10000000000000000000: a whole number, for which 64 bits are too
// few, so that the service would refuse what it has sent.
const WIDE_DOUBLE: NumberStringifier = {
  test: isWideDouble,
  stringify: (value) => (value as number).toExponential(),
};

function isWideDouble(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

function isDelicate(value: unknown): boolean {
  if (value === null || typeof value !== "object") {
    return typeof value === "bigint" || isWideDouble(value);
  }
  return (Array.isArray(value) ? value : Object.values(value)).some(isDelicate);
}

/** Whether two values are the same, in whatever order their members stand. */
export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (one === null || typeof one !== "object") return false;
  if (other === null || typeof other !== "object") return false;
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false;
    return one.every((member, at) => isSame(member, other[at]));
  }
  if (Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  );
}
