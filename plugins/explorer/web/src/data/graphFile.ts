/** Files of the vendor's explorer: a graph as one JSON document, which an import takes as well. */

import { parseJson, renderJson } from "../api/json";
import type { JsonObject, Relationship, Twin } from "../api/types";
import { isObject } from "../results/documents";
import { SECTION } from "./lineCounter";
import { tellBytes } from "./numbers";

/** An import takes no larger document of this form. */
export const MOST_GRAPH_BYTES = 32 * 1024 * 1024;

/** What such a file has, each as the text of its JSON. */
export interface GraphTexts {
  models: string[];
  twins: string[];
  relationships: string[];
}

/** The file, one document a line. Fails where it is larger than an import takes. */
export function buildGraphFile({ models, twins, relationships }: GraphTexts): Blob {
  const file = new Blob([
    '{"digitalTwinsFileInfo":{"fileVersion":"1.0.0"},\n',
    `"digitalTwinsGraph":{"digitalTwins":${renderList(twins)},\n`,
    `"relationships":${renderList(relationships)}},\n`,
    `"digitalTwinsModels":${renderList(models)}}\n`,
  ]);
  checkGraphSize(file.size);
  return file;
}

/** Fails where so many bytes are more than an import takes. */
export function checkGraphSize(bytes: number): void {
  if (bytes <= MOST_GRAPH_BYTES) return;
  const most = tellBytes(MOST_GRAPH_BYTES);
  throw new Error(
    `As JSON of the vendor’s explorer, a graph has at most ${most}: no import takes more. ` +
      "Save less of it, or export it as NDJSON.",
  );
}

function renderList(texts: readonly string[]): string {
  return `[\n${texts.join(",\n")}\n]`;
}

/** A twin as a PUT takes it: without ETag and times, save those of the source. */
export function renderPlainTwin(twin: Twin): string {
  const members = Object.entries(twin).filter(([name]) => name !== "$etag");
  return renderJson(
    Object.fromEntries(
      members.map(([name, value]) => {
        if (name === "$metadata") return [name, keepSourceTimes(value as JsonObject)];
        const isComponent = isObject(value) && isObject(value["$metadata"]);
        if (!isComponent) return [name, value];
        return [name, { ...value, $metadata: keepSourceTimes(value["$metadata"] as JsonObject) }];
      }),
    ),
  );
}

function keepSourceTimes(metadata: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(metadata).flatMap(([name, value]): [string, JsonObject[string]][] => {
      if (name === "$model") return [[name, value]];
      const { sourceTime } = isObject(value) ? value : {};
      return sourceTime === undefined ? [] : [[name, { sourceTime }]];
    }),
  );
}

export function renderPlainRelationship(relationship: Relationship): string {
  return renderJson(
    Object.fromEntries(Object.entries(relationship).filter(([name]) => name !== "$etag")),
  );
}

/** What the lines of an export have that is plain: no ETags, no history. */
export function readGraphLines(text: string): GraphTexts {
  const texts: GraphTexts = { models: [], twins: [], relationships: [] };
  let section = "";
  for (const line of text.split("\n")) {
    const begun = SECTION.exec(line);
    if (begun?.[1] !== undefined) section = begun[1];
    else if (line === "") continue;
    else if (section === "Models") texts.models.push(line);
    else if (section === "Twins") texts.twins.push(line);
    else if (section === "Relationships") {
      // In a line the source of a relationship is its `$dtId`.
      const { $dtId = null, ...members } = parseJson(line) as JsonObject;
      texts.relationships.push(renderJson({ $sourceId: $dtId, ...members }));
    }
  }
  return texts;
}

/** Whether a text begins as a graph does, in either form that an import takes. */
export function isGraphText(text: string): boolean {
  return /^\s*\{\s*"(?:Section|digitalTwins(?:FileInfo|Graph|Models))"/.test(text);
}

/** Whether a text begins as a picture of twins and places does, which is no graph. */
export function isPictureText(text: string): boolean {
  return /^\s*\{\s*"nodes"\s*:/.test(text);
}
