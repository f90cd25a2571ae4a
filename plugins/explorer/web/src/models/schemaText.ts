import type { Json } from "../api/types";
import { isObject, nameOf } from "./interfaces";

/** A schema in a few words, such as `map of string`; `deep` tells fields and values too. */
export function describeSchema(schema: Json | undefined, deep = false): string {
  if (schema === undefined || schema === null) return "";
  if (typeof schema === "string") return schema.startsWith("dtmi:") ? nameOf(schema) : schema;
  if (!isObject(schema)) return "";
  const type = [schema["@type"]].flat().find((one) => typeof one === "string") ?? "";
  switch (nameOf(String(type))) {
    case "Enum": {
      const names = valuesOf(schema["enumValues"]).map((one) => one.name);
      return deep && names.length > 0 ? `enum: ${names.join(", ")}` : "enum";
    }
    case "Array":
      return `array of ${describeSchema(schema["elementSchema"], deep)}`;
    case "Map": {
      const value = schema["mapValue"];
      return `map of ${describeSchema(isObject(value) ? value["schema"] : undefined, deep)}`;
    }
    case "Object": {
      const fields = [schema["fields"] ?? []].flat().filter(isObject);
      if (!deep || fields.length === 0) return "object";
      const told = fields.map((one) => `${String(one["name"])}: ${describeSchema(one["schema"])}`);
      return `object { ${told.join(", ")} }`;
    }
    default:
      return nameOf(String(schema["@id"] ?? type));
  }
}

export interface EnumValue {
  name: string;
  value: string | number;
  displayName?: Json;
}

/** The values of an Enum, as far as they are ones. */
export function valuesOf(values: Json | undefined): EnumValue[] {
  return [values ?? []].flat().flatMap((one): EnumValue[] => {
    if (!isObject(one)) return [];
    const value = one["enumValue"];
    if (typeof value !== "string" && typeof value !== "number") return [];
    const found: EnumValue = { name: String(one["name"] ?? value), value };
    return [
      one["displayName"] === undefined ? found : { ...found, displayName: one["displayName"] },
    ];
  });
}
