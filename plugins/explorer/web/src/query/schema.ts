import { nameOf, type ContentInfo, type ModelIndex } from "../models/index";

export interface SchemaProperty {
  name: string;
  /** Its type as a reader sees it, such as `double` or `Object`. */
  type: string;
  definedBy: string;
  component: boolean;
  description: string;
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
}

export const EMPTY_SCHEMA: QuerySchema = {
  labels: new Map(),
  relationships: new Map(),
  propertiesOf: () => [],
  all: [],
};

/** Built once for the models at hand. */
export function buildSchema(index: ModelIndex): QuerySchema {
  const labels = new Map<string, string[]>();
  const relationships = new Map<string, SchemaRelationship>();
  const all = new Map<string, SchemaProperty>();
  for (const one of index.interfaces.values()) {
    const label = nameOf(one.id);
    labels.set(label, [...(labels.get(label) ?? []), one.id]);
    for (const content of one.own) {
      if (content.kind === "Relationship") addRelationship(relationships, content, label);
      else if (isMember(content) && !all.has(content.name)) {
        all.set(content.name, describe(content));
      }
    }
  }
  return {
    labels,
    relationships,
    all: [...all.values()],
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
