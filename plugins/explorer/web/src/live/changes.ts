import type { Json, JsonObject } from "../api/types";
import { isObject } from "../results/documents";

export type Verb = "create" | "update" | "delete";

/** What an event of `/events` tells, as the page needs it. */
export type Change =
  | { kind: "twin"; verb: Verb; id: string; paths: string[]; time: string }
  | {
      kind: "relationship";
      verb: Verb;
      sourceId: string;
      id: string;
      /** Unknown for an update: the event has the patch alone. */
      targetId: string | null;
      paths: string[];
      time: string;
    }
  | { kind: "model"; verb: Verb; id: string; time: string }
  | { kind: "telemetry"; id: string; component: string | null; values: JsonObject; time: string };

const VERBS: Record<string, Verb> = {
  Create: "create",
  Update: "update",
  Delete: "delete",
  Decommission: "update",
};

/** The change that a CloudEvent tells of; null for what is none of a graph. */
export function readChange(event: Json): Change | null {
  if (!isObject(event)) return null;
  const time = String(event["time"] ?? "");
  const subject = typeof event["subject"] === "string" ? event["subject"] : null;
  const data = isObject(event["data"]) ? event["data"] : {};
  if (event["type"] === "microsoft.iot.telemetry") {
    const sender = /\/digitaltwins\/([^/]+)$/.exec(String(event["source"] ?? ""))?.[1];
    if (sender === undefined) return null;
    const id = decodeURIComponent(sender);
    return { kind: "telemetry", id, component: subject, values: data, time };
  }
  const [, thing, word] =
    /\.(Twin|Relationship|Model)\.([A-Za-z]+)$/.exec(String(event["type"])) ?? [];
  const verb = VERBS[word ?? ""];
  if (verb === undefined || subject === null) return null;
  if (thing === "Model") return { kind: "model", verb, id: subject, time };
  const paths = readPaths(data["patch"]);
  if (thing === "Twin") return { kind: "twin", verb, id: subject, paths, time };
  // NOTE: ids hold no such text but by malice; then the last one parts them, as no id has a slash.
  const at = subject.lastIndexOf("/relationships/");
  if (at < 0) return null;
  const targetId = typeof data["$targetId"] === "string" ? data["$targetId"] : null;
  return {
    kind: "relationship",
    verb,
    sourceId: subject.slice(0, at),
    id: subject.slice(at + "/relationships/".length),
    targetId,
    paths,
    time,
  };
}

function readPaths(patch: Json | undefined): string[] {
  if (!Array.isArray(patch)) return [];
  return patch.flatMap((one) =>
    isObject(one) && typeof one["path"] === "string" ? [one["path"]] : [],
  );
}
