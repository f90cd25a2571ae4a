import type { Json, JsonObject, Relationship, Twin } from "../api/types";

export function isObject(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

export function isTwin(value: Json | undefined): value is Twin {
  return isObject(value) && typeof value["$dtId"] === "string" && isObject(value["$metadata"]);
}

export function isRelationship(value: Json | undefined): value is Relationship {
  return (
    isObject(value) &&
    typeof value["$relationshipId"] === "string" &&
    typeof value["$sourceId"] === "string" &&
    typeof value["$targetId"] === "string"
  );
}

interface Documents {
  twins: Twin[];
  relationships: Relationship[];
}

/** All twins and relationships anywhere in the rows (also in lists and maps), each once. */
export function collectDocuments(rows: Json[]): Documents {
  const twins = new Map<string, Twin>();
  const relationships = new Map<string, Relationship>();
  const visit = (value: Json | undefined): void => {
    if (isTwin(value)) twins.set(value.$dtId, value);
    else if (isRelationship(value)) {
      relationships.set(`${value.$sourceId}\n${value.$relationshipId}`, value);
    } else if (Array.isArray(value)) value.forEach(visit);
    else if (isObject(value)) Object.values(value).forEach(visit);
  };
  rows.forEach(visit);
  return { twins: [...twins.values()], relationships: [...relationships.values()] };
}

/** Whether rows are a graph: nothing in their columns but twins and relationships, and some of these. */
export function isGraph(rows: readonly JsonObject[]): boolean {
  let related = false;
  const isPart = (value: Json | undefined): boolean => {
    if (isRelationship(value)) related = true;
    else if (Array.isArray(value)) return value.every(isPart);
    else return value === null || isTwin(value);
    return true;
  };
  return rows.every((row) => Object.values(row).every(isPart)) && related;
}

/** Those that are left when some are gone, by the keys of `live/store`: no end of any is missing. */
export function leaveOut(documents: Documents, isGone: (key: string) => boolean): Documents {
  return {
    twins: documents.twins.filter((one) => !isGone(one.$dtId)),
    relationships: documents.relationships.filter(
      ({ $sourceId, $relationshipId, $targetId }) =>
        ![$sourceId, $targetId, `${$sourceId}\n${$relationshipId}`].some(isGone),
    ),
  };
}
