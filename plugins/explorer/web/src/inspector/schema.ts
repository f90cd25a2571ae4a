import { renderJson } from "../api/json";
import type { Json } from "../api/types";
import { nameOf } from "../models/index";
import { valuesOf, type EnumValue } from "../models/schemaText";
import { isObject } from "../results/documents";

/** The field that a DTDL schema asks for. */
export type FieldSchema =
  | { kind: "boolean" }
  | { kind: "text"; type: string; form: TextForm }
  | { kind: "enum"; values: EnumValue[] }
  | { kind: "object"; fields: { name: string; schema: FieldSchema }[] }
  | { kind: "array"; element: FieldSchema }
  | { kind: "map"; value: FieldSchema }
  | { kind: "json" };

/** How a value that is written as text is read. */
export interface TextForm {
  /** What is right, such as `a date such as 2026-01-31`. */
  hint: string;
  /** A value of it, where its form is not plain. */
  example?: string;
  /** The kind of input that suits it. */
  input: "text" | "decimal" | "numeric";
  /** The value of a text; undefined where it is none. */
  parse(text: string): Json | undefined;
}

const WHOLE = /^[+-]?\d+$/;
const REAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

function whole(least: number | bigint, most: number | bigint): TextForm {
  const parse = (text: string): number | bigint | undefined => {
    if (!WHOLE.test(text.trim())) return undefined;
    const value = BigInt(text);
    if (value < least || value > most) return undefined;
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  };
  return { hint: `a whole number from ${least} to ${most}`, input: "numeric", parse };
}

function real(largest: number): TextForm {
  const parse = (text: string): number | undefined => {
    const value = REAL.test(text.trim()) ? Number(text) : NaN;
    return Math.abs(value) <= largest ? value : undefined;
  };
  return { hint: "a number such as 21.5", input: "decimal", parse };
}

type Told = Pick<TextForm, "hint" | "example">;

/** What is right of a form that nobody guesses. */
function such(what: string, example: string): Told {
  return { hint: `${what} such as ${example}`, example };
}

function word(pattern: RegExp, told: Told, input: TextForm["input"] = "text"): TextForm {
  return { ...told, input, parse: (text) => (pattern.test(text.trim()) ? text.trim() : undefined) };
}

/** A day that the calendar has. */
function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

const DATE: TextForm = {
  ...such("a date", "2026-01-31"),
  input: "text",
  parse: (text) => (/^\d{4}-\d\d-\d\d$/.test(text) && isDay(text) ? text : undefined),
};
const CLOCK = String.raw`([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)`;
const MOMENT = new RegExp(`^\\d{4}-\\d\\d-\\d\\dT${CLOCK}$`);
const DATE_TIME: TextForm = {
  ...such("a date and time with zone", "2026-01-31T12:00:00Z"),
  input: "text",
  parse: (text) => {
    const value = text.trim();
    return MOMENT.test(value) && isDay(value.slice(0, 10)) ? value : undefined;
  },
};
const DURATION = /^P(?!$)((\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?|\d+W)$/;

// NOTE: `unsignedLong` has more in DTDL, but the service takes no whole number beyond `long`.
const LONGEST = 2n ** 63n - 1n;
const FLOAT = 3.4028234663852886e38;

/** SPEC: the primitive schemas of DTDL v2 to v4 but `boolean`; the service has the last word. */
const TEXTS: Readonly<Record<string, TextForm>> = {
  string: { hint: "a text", input: "text", parse: (text) => text },
  integer: whole(-(2 ** 31), 2 ** 31 - 1),
  long: whole(-(2n ** 63n), LONGEST),
  byte: whole(-128, 127),
  short: whole(-(2 ** 15), 2 ** 15 - 1),
  unsignedByte: whole(0, 255),
  unsignedShort: whole(0, 2 ** 16 - 1),
  unsignedInteger: whole(0, 2 ** 32 - 1),
  unsignedLong: whole(0, LONGEST),
  double: real(Number.MAX_VALUE),
  float: real(FLOAT),
  decimal: word(/^[+-]?(\d+(\.\d*)?|\.\d+)$/, { hint: "decimal digits such as -3.14" }, "decimal"),
  date: DATE,
  dateTime: DATE_TIME,
  time: word(new RegExp(`^${CLOCK}$`), such("a time with zone", "12:00:00Z")),
  duration: word(DURATION, such("an ISO 8601 duration", "P1DT12H")),
  uuid: word(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i, { hint: "a UUID" }),
  bytes: word(/^([\w+/]{4})*([\w+/]{2}==|[\w+/]{3}=)?$/, {
    hint: "padded base64 such as aGVsbG8=",
  }),
};

/** The field of a schema as `ContentInfo` has it; what has none of its own is edited as JSON. */
export function readSchema(schema: Json | undefined): FieldSchema {
  if (typeof schema === "string") {
    const type = nameOf(schema);
    if (type === "boolean") return { kind: "boolean" };
    const form = TEXTS[type];
    return form === undefined ? { kind: "json" } : { kind: "text", type, form };
  }
  if (!isObject(schema)) return { kind: "json" };
  const types = [schema["@type"] ?? []].flat().map((one) => nameOf(String(one)));
  if (types.includes("Enum")) {
    const values = valuesOf(schema["enumValues"]);
    return values.length > 0 ? { kind: "enum", values } : { kind: "json" };
  }
  if (types.includes("Array")) {
    return { kind: "array", element: readSchema(schema["elementSchema"]) };
  }
  if (types.includes("Map")) {
    const value = schema["mapValue"];
    return { kind: "map", value: readSchema(isObject(value) ? value["schema"] : undefined) };
  }
  if (types.includes("Object")) {
    const fields = [schema["fields"] ?? []].flat().filter(isObject);
    return {
      kind: "object",
      fields: fields.flatMap((one) =>
        typeof one["name"] === "string"
          ? [{ name: one["name"], schema: readSchema(one["schema"]) }]
          : [],
      ),
    };
  }
  return { kind: "json" };
}

/** Whether a value is of the kind that its field can show; what is not is shown as JSON. */
export function fits(schema: FieldSchema, value: Json): boolean {
  switch (schema.kind) {
    case "boolean":
      return typeof value === "boolean";
    case "text":
      return schema.form.parse(writeText(value)) === value;
    case "enum":
      return schema.values.some((one) => one.value === value);
    case "array":
      return Array.isArray(value);
    case "json":
      return true;
    default:
      return isObject(value);
  }
}

/** What a text field shows of a value. */
export function writeText(value: Json | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : renderJson(value);
}

/** What a field begins with when it is set; undefined where something has to be written first. */
export function firstValue(schema: FieldSchema): Json | undefined {
  switch (schema.kind) {
    case "boolean":
      return false;
    case "enum":
      return schema.values[0]?.value;
    case "array":
      return [];
    case "object":
    case "map":
      return {};
    case "json":
      return null;
    case "text":
      if (schema.type === "string") return "";
      return schema.form.input === "decimal" || schema.form.input === "numeric"
        ? schema.form.parse("0")
        : undefined;
  }
}
