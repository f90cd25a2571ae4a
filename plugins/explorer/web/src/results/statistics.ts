import type { Statistics } from "../api/types";

const COUNTED: readonly [keyof Statistics, string, string][] = [
  ["nodesCreated", "twin", "created"],
  ["nodesDeleted", "twin", "deleted"],
  ["relationshipsCreated", "relationship", "created"],
  ["relationshipsDeleted", "relationship", "deleted"],
  ["propertiesSet", "property", "set"],
  ["labelsAdded", "label", "added"],
  ["labelsRemoved", "label", "removed"],
];

/** What a statement changed, one text for each count that is not zero: `2 twins created`. */
export function listStatistics(statistics: Statistics): string[] {
  return COUNTED.flatMap(([member, name, done]) => {
    const count = statistics[member];
    if (count === 0) return [];
    const plural = name === "property" ? "properties" : `${name}s`;
    return [`${count.toLocaleString("en")} ${count === 1 ? name : plural} ${done}`];
  });
}
