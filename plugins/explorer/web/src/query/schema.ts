import type { Json } from "../api/types";
import { nameOf, type ContentInfo, type ModelIndex } from "../models/index";
import { isObject } from "../results/documents";

export interface SchemaProperty {
  name: string;
  /** Its type as a reader sees it, such as `double` or `Object`. */
  type: string;
  definedBy: string;
  component: boolean;
  description: string;
  /** Its DTDL schema; of a component the DTMI. */
  schema: Json | undefined;
}

/** A value of an enumeration, as it is stored, and what readers call it. */
export interface SchemaValue {
  value: string | number | bigint;
  name: string;
}

export interface SchemaRelationship {
  name: string;
  /** Labels of the interfaces that define it, and of what it leads to (none: anything). */
  sources: string[];
  targets: string[];
  properties: SchemaProperty[];
}

/** What the stored models offer to a query, by the names that queries use. */
export interface QuerySchema {
  /** Labels and the DTMIs that bear each. */
  labels: ReadonlyMap<string, string[]>;
  relationships: ReadonlyMap<string, SchemaRelationship>;
  /** What twins of a label have, inherited members too. */
  propertiesOf(label: string): SchemaProperty[];
  /** What any twin may have, each name once. */
  all: SchemaProperty[];
  /** What is called so in any model. */
  named(name: string): SchemaProperty[];
  /** What a component or an object has. */
  membersOf(property: SchemaProperty): SchemaProperty[];
}

export const EMPTY_SCHEMA: QuerySchema = {
  labels: new Map(),
  relationships: new Map(),
  propertiesOf: () => [],
  all: [],
  named: () => [],
  membersOf: () => [],
};

/** Built once for the models at hand. */
export function buildSchema(index: ModelIndex): QuerySchema {
  const labels = new Map<string, string[]>();
  const relationships = new Map<string, SchemaRelationship>();
  const all = new Map<string, SchemaProperty[]>();
  for (const one of index.interfaces.values()) {
    const label = nameOf(one.id);
    labels.set(label, [...(labels.get(label) ?? []), one.id]);
    for (const content of one.own) {
      if (content.kind === "Relationship") addRelationship(relationships, content, label);
      else if (isMember(content)) {
        all.set(content.name, [...(all.get(content.name) ?? []), describe(content)]);
      }
    }
  }
  return {
    labels,
    relationships,
    all: [...all.values()].flatMap(([first]) => first ?? []),
    named: (name) => all.get(name) ?? [],
    membersOf: (property) => listMembers(property, index),
    propertiesOf: (label) => {
      const found = new Map<string, SchemaProperty>();
      for (const id of labels.get(label) ?? []) {
        for (const content of index.interfaces.get(id)?.contents ?? []) {
          if (isMember(content)) found.set(content.name, describe(content));
        }
      }
      return [...found.values()];
    },
  };
}

function listMembers({ component, schema, definedBy }: SchemaProperty, index: ModelIndex) {
  if (component) {
    const contents = index.interfaces.get(String(schema))?.contents ?? [];
    return contents.filter(isMember).map(describe);
  }
  if (!isObject(schema) || !Array.isArray(schema["fields"])) return [];
  return schema["fields"].filter(isObject).map((field) =>
    describe({
      kind: "Property",
      name: String(field["name"]),
      schema: field["schema"] ?? null,
      definedBy,
    }),
  );
}

/** The values of an enumeration; none of any other schema. */
export function valuesOf({ schema }: SchemaProperty): SchemaValue[] {
  if (!isObject(schema) || !Array.isArray(schema["enumValues"])) return [];
  return schema["enumValues"].filter(isObject).flatMap(({ enumValue: value, name }) => {
    const isValue = typeof value === "string" || typeof value === "number";
    return isValue || typeof value === "bigint" ? [{ value, name: String(name) }] : [];
  });
}

function isMember(content: ContentInfo): boolean {
  return content.kind === "Property" || content.kind === "Component";
}

function addRelationship(
  known: Map<string, SchemaRelationship>,
  content: ContentInfo,
  source: string,
): void {
  const found = known.get(content.name) ?? {
    name: content.name,
    sources: [],
    targets: [],
    properties: [],
  };
  const target = content.target === undefined ? [] : [nameOf(content.target)];
  known.set(content.name, {
    name: content.name,
    sources: [...new Set([...found.sources, source])],
    targets: [...new Set([...found.targets, ...target])],
    properties: [
      ...found.properties,
      ...(content.properties ?? [])
        .filter((one) => !found.properties.some((other) => other.name === one.name))
        .map(describe),
    ],
  });
}

function describe(content: ContentInfo): SchemaProperty {
  return {
    name: content.name,
    type: typeName(content) + (content.unit === undefined ? "" : `, ${content.unit}`),
    definedBy: content.definedBy,
    component: content.kind === "Component",
    description: content.description ?? content.displayName ?? "",
    schema: content.schema,
  };
}

function typeName(content: ContentInfo): string {
  const { schema } = content;
  if (typeof schema === "string") return schema.startsWith("dtmi:") ? nameOf(schema) : schema;
  if (schema !== null && typeof schema === "object" && !Array.isArray(schema)) {
    const type = schema["@type"];
    return String(Array.isArray(type) ? type[0] : (type ?? "object"));
  }
  return content.kind.toLowerCase();
}
