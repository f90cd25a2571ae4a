import type { Json, Relationship } from "../../api/types";
import type { EdgeKind } from "../../picture/board";
import { addTo, edgeKey, EMPTY, listNeighbours, type Contents } from "../../picture/model";
import type { Visible } from "../../picture/visible";
import type { ModelIndex } from "../index";
import { isObject, type ContentInfo } from "../interfaces";

export const KINDS: readonly EdgeKind[] = ["extends", "relationship", "component"];

/** How one model speaks of another: what it extends, what it leads to, what is a part of it. */
export interface Tie {
  kind: EdgeKind;
  source: string;
  /** Null is any model. */
  target: string | null;
  /** Of the relationship or component; empty where it extends. */
  name: string;
}

/** All ties as the documents say them; what is inherited stands at its base. */
export function listTies(index: ModelIndex): Tie[] {
  return [...index.interfaces.values()].flatMap(({ id, extends: bases, own }) => [
    ...bases.map((target): Tie => ({ kind: "extends", source: id, target, name: "" })),
    ...own.flatMap((content) => readTie(id, content)),
  ]);
}

function readTie(source: string, { kind, name, target, schema }: ContentInfo): Tie[] {
  if (kind === "Relationship") {
    return [{ kind: "relationship", source, target: target ?? null, name }];
  }
  const part = kind === "Component" ? readSchema(schema) : null;
  return part === null ? [] : [{ kind: "component", source, target: part, name }];
}

/** The interface of a component, which may be named or stand there whole. */
function readSchema(schema: Json | undefined): string | null {
  const named = isObject(schema) ? schema["@id"] : schema;
  return typeof named === "string" ? named : null;
}

/** Whether it can be drawn: it leads to one model, and that is stored. */
export function hasEdge(index: ModelIndex, { target }: Tie): boolean {
  return target !== null && index.interfaces.has(target);
}

/** Models and their ties as a picture: those of one kind between the same two are one edge. */
export function buildContents(index: ModelIndex, ties: readonly Tie[]): Contents {
  const nodes = [...index.interfaces.keys()].map((id) => ({
    $dtId: id,
    $etag: "",
    $metadata: { $model: id },
    name: index.label(id),
  }));
  const edges = new Map<string, Relationship>();
  for (const tie of ties) {
    if (tie.target === null || !hasEdge(index, tie)) continue;
    const id = `${tie.kind}\n${tie.target}`;
    const key = edgeKey(tie.source, id);
    const names = [edges.get(key)?.$relationshipName, tie.name || tie.kind];
    edges.set(key, {
      $relationshipId: id,
      $relationshipName: names.filter((one) => one !== undefined).join(", "),
      $sourceId: tie.source,
      $targetId: tie.target,
      $etag: "",
    });
  }
  return addTo(EMPTY, nodes, [...edges.values()]);
}

/** The kind of an edge that `buildContents` has made. */
export function kindOf({ $relationshipId }: Relationship): EdgeKind {
  return KINDS.find((kind) => $relationshipId.startsWith(`${kind}\n`)) ?? "relationship";
}

/** What is seen: all models, or those that were found with what they are tied to. */
export function listVisible(
  contents: Contents,
  found: ReadonlySet<string> | null,
  hidden: ReadonlySet<EdgeKind>,
): Visible {
  const shown = [...contents.edges].filter(([, one]) => {
    if (hidden.has(kindOf(one))) return false;
    return found === null || found.has(one.$sourceId) || found.has(one.$targetId);
  });
  const edges = new Set(shown.map(([key]) => key));
  if (found === null) return { nodes: new Set(contents.nodes.keys()), edges };
  const beside = listNeighbours(shown.map(([, one]) => one)).keys();
  return { nodes: new Set([...found, ...beside]), edges };
}
