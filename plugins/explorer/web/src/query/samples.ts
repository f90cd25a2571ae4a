import { nameOf, type ModelIndex } from "../models/index";
import { quoteName } from "./names";

export interface Sample {
  name: string;
  text: string;
}

/** Queries to begin with, made of the models at hand. */
export function buildSamples(index: ModelIndex): Sample[] {
  return [
    {
      name: "Twins by model",
      text: "MATCH (n)\nRETURN n.$metadata.$model AS model, count(*) AS twins\nORDER BY twins DESC",
    },
    {
      name: "Relationships by name",
      text: "MATCH ()-[r]->()\nRETURN type(r) AS name, count(*) AS relationships\nORDER BY relationships DESC",
    },
    ...relationshipSamples(index),
    ...propertySamples(index),
    {
      name: "Twins that nothing leads to",
      text: "MATCH (n)\nWHERE NOT EXISTS { (n)<--() }\nRETURN n\nLIMIT 100",
    },
    ...vendorSamples(index),
  ];
}

/** The relationship whose both ends are known, of an interface that defines it itself. */
function relationshipSamples(index: ModelIndex): Sample[] {
  for (const one of index.interfaces.values()) {
    const found = one.own.find((content) => content.kind === "Relationship" && content.target);
    if (found?.target === undefined) continue;
    const [source, target] = [index.label(one.id), index.label(found.target)];
    const pattern = `(a:${word(one.id)})-[r:${quoteName(found.name)}]->(b:${word(found.target)})`;
    return [
      {
        name: `${source} to ${target} by ${found.name}`,
        text: `MATCH ${pattern}\nRETURN a, r, b\nLIMIT 300`,
      },
    ];
  }
  return [];
}

/** The twins of an interface that has a number, by that number. */
function propertySamples(index: ModelIndex): Sample[] {
  const parts = partsOf(index);
  for (const one of index.interfaces.values()) {
    if (parts.has(one.id)) continue;
    const found = one.own.find(
      (content) =>
        content.kind === "Property" &&
        ["double", "float", "integer", "long"].includes(String(content.schema)),
    );
    if (found === undefined) continue;
    const name = quoteName(found.name);
    return [
      {
        name: `${index.label(one.id)} with the largest ${found.displayName ?? found.name}`,
        text: `MATCH (n:${word(one.id)})\nWHERE n.${name} IS NOT NULL\nRETURN n, n.${name} AS ${name}\nORDER BY ${name} DESC\nLIMIT 20`,
      },
    ];
  }
  return [];
}

function vendorSamples(index: ModelIndex): Sample[] {
  const parts = partsOf(index);
  const id = index.roots().find((one) => !parts.has(one));
  if (id === undefined) return [];
  return [
    {
      name: `${index.label(id)} in the language of Azure Digital Twins`,
      text: `SELECT TOP(100) *\nFROM DIGITALTWINS T\nWHERE IS_OF_MODEL(T, '${id}')`,
    },
  ];
}

/** What components are made of: it has seldom twins of its own. */
function partsOf(index: ModelIndex): Set<unknown> {
  return new Set(
    [...index.interfaces.values()].flatMap((one) =>
      one.own.filter((content) => content.kind === "Component").map((content) => content.schema),
    ),
  );
}

function word(id: string): string {
  return quoteName(nameOf(id));
}
