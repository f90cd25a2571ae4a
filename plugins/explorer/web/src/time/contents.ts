import type { JsonObject, Twin } from "../api/types";
import { namesOf, pointerOf } from "../inspector/document";
import type { ContentInfo, ModelIndex } from "../models/index";
import { isObject } from "../results/documents";

/** What a model declares at a path, such as `climate/temperature`; undefined where nothing is known. */
export function contentAt(
  model: string | null,
  path: string,
  index: ModelIndex,
): Pick<ContentInfo, "kind" | "unit"> | undefined {
  const [name = "", ...below] = namesOf(`/${path}`);
  const content = model === null ? undefined : index.content(model, name);
  if (content === undefined || below.length === 0) return content;
  if (content.kind === "Component" && typeof content.schema === "string") {
    return contentAt(content.schema, path.slice(path.indexOf("/") + 1), index);
  }
  return { kind: content.kind };
}

/** Deeper in a document nothing is looked for. */
const DEEPEST = 4;

/** The paths of a twin that have numbers over time: in its document, and of its telemetry. */
export function listPaths(twin: Twin, index: ModelIndex): string[] {
  const found = new Set<string>(listNumbers(twin, "", DEEPEST));
  const contents = index.interfaces.get(twin.$metadata.$model)?.contents ?? [];
  for (const { kind, name, schema } of contents) {
    if (kind === "Telemetry") found.add(pointerOf(name).slice(1));
    if (kind !== "Component" || typeof schema !== "string") continue;
    for (const inner of index.interfaces.get(schema)?.contents ?? []) {
      if (inner.kind === "Telemetry") found.add(pointerOf(name, inner.name).slice(1));
    }
  }
  return [...found];
}

function listNumbers(value: JsonObject, within: string, depth: number): string[] {
  return Object.entries(value).flatMap(([name, one]) => {
    if (name.startsWith("$")) return [];
    const path = within + pointerOf(name);
    if (["number", "bigint", "boolean"].includes(typeof one)) return [path.slice(1)];
    return isObject(one) && depth > 1 ? listNumbers(one, path, depth - 1) : [];
  });
}
