import type { Json, JsonObject, ModelEntry } from "../api/types";
import { symbolOf } from "./units";

export type ContentKind = "Property" | "Telemetry" | "Command" | "Component" | "Relationship";

/** One content of an interface, as its document says it. */
export interface ContentInfo {
  kind: ContentKind;
  name: string;
  displayName?: string;
  description?: string;
  comment?: string;
  /** The schema as written; a reference to one of the interface's own `schemas` is resolved. */
  schema?: Json;
  /** As it stands behind a number, such as `°C`. */
  unit?: string;
  /** Semantic types such as `Temperature`, beside the kind. */
  semanticType?: string[];
  writable?: boolean;
  target?: string;
  minMultiplicity?: number;
  maxMultiplicity?: number;
  /** Those of a relationship. */
  properties?: ContentInfo[];
  /** The DTMI of the interface it stands in. */
  definedBy: string;
}

export interface InterfaceInfo {
  id: string;
  displayName: string;
  description: string;
  extends: string[];
  decommissioned: boolean;
  uploadTime: string;
  own: ContentInfo[];
  /** The effective ones: its own, then those of its bases, nearest first. */
  contents: ContentInfo[];
  document: JsonObject;
}

const KINDS: readonly string[] = ["Property", "Telemetry", "Command", "Component", "Relationship"];

/** The last name of a DTMI: `dtmi:com:example:Room;1` is `Room`. */
export function nameOf(dtmi: string): string {
  return (
    dtmi
      .replace(/;[0-9.]+$/, "")
      .split(":")
      .at(-1) ?? dtmi
  );
}

/** What a language-dependent string says: in the reader's language, in English, or at all. */
export function textOf(value: Json | undefined, languages: readonly string[] = []): string {
  if (typeof value === "string") return value;
  if (!isObject(value)) return "";
  const texts = new Map(Object.entries(value).map(([tag, text]) => [tag.toLowerCase(), text]));
  const wanted = languages.flatMap((tag) => [tag.toLowerCase(), tag.toLowerCase().split("-")[0]]);
  const found = [...wanted, "en", ...texts.keys()].map((tag) => texts.get(tag ?? ""));
  return String(found.find((text) => typeof text === "string" && text !== "") ?? "");
}

/** The interface of a listed model, without what it inherits. */
export function readInterface(entry: ModelEntry, languages: readonly string[] = []): InterfaceInfo {
  const document = entry.model ?? {};
  const schemas = readSchemas(document["schemas"]);
  const read = (value: Json) => readContent(value, entry.id, schemas, languages);
  const own = listOf(document["contents"]).flatMap(read);
  const said = textOf(document["displayName"] ?? entry.displayName, languages);
  return {
    id: entry.id,
    displayName: said || nameOf(entry.id),
    description: textOf(document["description"] ?? entry.description, languages),
    extends: listOf(document["extends"]).flatMap(readReference),
    decommissioned: entry.decommissioned,
    uploadTime: entry.uploadTime,
    own,
    contents: own,
    document,
  };
}

/** A reference is a DTMI, an object of one `@id`, or a whole definition with one. */
export function readReference(value: Json): string[] {
  if (typeof value === "string") return [value];
  return isObject(value) && typeof value["@id"] === "string" ? [value["@id"]] : [];
}

function readSchemas(value: Json | undefined): Map<string, Json> {
  return new Map(
    listOf(value).flatMap((one) => readReference(one).map((id): [string, Json] => [id, one])),
  );
}

function readContent(
  value: Json,
  definedBy: string,
  schemas: Map<string, Json>,
  languages: readonly string[],
): ContentInfo[] {
  if (!isObject(value)) return [];
  const types = listOf(value["@type"]).filter((one) => typeof one === "string");
  const kind = types.find((one) => KINDS.includes(one)) as ContentKind | undefined;
  const name = value["name"];
  if (kind === undefined || typeof name !== "string") return [];
  const content: ContentInfo = { kind, name, definedBy };
  const displayName = textOf(value["displayName"], languages);
  if (displayName) content.displayName = displayName;
  const description = textOf(value["description"], languages);
  if (description) content.description = description;
  if (typeof value["comment"] === "string") content.comment = value["comment"];
  if (value["schema"] !== undefined) content.schema = resolve(value["schema"], schemas);
  const unit = typeof value["unit"] === "string" ? symbolOf(nameOf(value["unit"])) : "";
  if (unit !== "") content.unit = unit;
  const semantic = types.filter((one) => one !== kind);
  if (semantic.length > 0) content.semanticType = semantic.map(nameOf);
  if (typeof value["writable"] === "boolean") content.writable = value["writable"];
  const target = readReference(value["target"] ?? null)[0];
  if (target !== undefined) content.target = target;
  if (typeof value["minMultiplicity"] === "number") {
    content.minMultiplicity = value["minMultiplicity"];
  }
  if (typeof value["maxMultiplicity"] === "number") {
    content.maxMultiplicity = value["maxMultiplicity"];
  }
  if (kind === "Relationship") {
    content.properties = listOf(value["properties"]).flatMap((one) =>
      readContent(one, definedBy, schemas, languages),
    );
  }
  return [content];
}

/** Puts definitions in the place of references to `schemas`; one that holds itself stays a name. */
function resolve(value: Json, schemas: Map<string, Json>, above: readonly string[] = []): Json {
  if (typeof value === "string") {
    const found = schemas.get(value);
    if (found === undefined || above.includes(value)) return value;
    return resolve(found, schemas, [...above, value]);
  }
  if (Array.isArray(value)) return value.map((one) => resolve(one, schemas, above));
  if (!isObject(value)) return value;
  const resolved: JsonObject = {};
  for (const [name, inner] of Object.entries(value)) {
    const nested = ["schema", "elementSchema", "fields", "mapValue", "mapKey"].includes(name);
    resolved[name] = nested ? resolve(inner, schemas, above) : inner;
  }
  return resolved;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** In JSON-LD one value may stand alone where several may be. */
function listOf(value: Json | undefined): Json[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}
