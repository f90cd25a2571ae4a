import { ApiError, isUnknown, titleOf } from "../api/errors";
import { parseJson } from "../api/json";
import type { Json } from "../api/types";
import { isObject } from "./interfaces";
import { findSyntaxError, locate, type Range } from "./places";

/** A file that is to be uploaded, as it stands in the editor. */
export interface Source {
  name: string;
  text: string;
}

export interface Finding extends Range {
  /** The name of the source. */
  source: string;
  code: string;
  message: string;
}

/** Where a document of the request comes from: a source and the pointer to it in there. */
interface Origin {
  source: Source;
  pointer: string;
}

export interface Request {
  documents: Json[];
  origins: Origin[];
  /** Sources that are no JSON, or hold no interface. */
  findings: Finding[];
}

/** The sources with others added, of which one takes the place of that of its name. */
export function addSources(there: readonly Source[], added: readonly Source[]): Source[] {
  const names = new Set(added.map((one) => one.name));
  return [...there.filter((one) => !names.has(one.name)), ...added];
}

/** The source to open: the one that is open or else the first, of those with findings if any. */
export function chooseSource(
  sources: readonly Source[],
  findings: readonly Finding[],
  open?: string,
): string {
  const wrong = new Set(findings.map((one) => one.source));
  const some = wrong.size === 0 ? sources : sources.filter((one) => wrong.has(one.name));
  return (some.find((one) => one.name === open) ?? some[0] ?? sources[0])?.name ?? "";
}

/** What is wrong, and what that means for what is stored. */
export function tellWrong(count: number, error: unknown): string {
  const told = count === 1 ? "One thing is wrong." : `${count} things are wrong.`;
  return isUnknown(error) ? titleOf(error) : `${told} Nothing was stored.`;
}

/** One request of all interfaces in the sources; each holds one, or a list of them. */
export function buildRequest(sources: readonly Source[]): Request {
  const request: Request = { documents: [], origins: [], findings: [] };
  for (const source of sources) {
    const broken = findSyntaxError(source.text);
    if (broken !== null) {
      const message = "This is no JSON from here on.";
      request.findings.push({ source: source.name, code: "notJson", message, ...broken });
      continue;
    }
    const value = parseJson(source.text);
    const several = Array.isArray(value);
    for (const [at, document] of (several ? value : [value]).entries()) {
      const pointer = several ? `/${at}` : "";
      if (isObject(document)) {
        request.documents.push(document);
        request.origins.push({ source, pointer });
      } else {
        const message = "A model is a JSON object; this is none.";
        const place = locate(source.text, pointer);
        request.findings.push({ source: source.name, code: "notAnObject", message, ...place });
      }
    }
  }
  return request;
}

/** The findings of a refusal at their places; those that name no place stand in `rest`. */
export function readFindings(
  error: unknown,
  origins: readonly Origin[],
): { findings: Finding[]; rest: string[] } {
  const found: { findings: Finding[]; rest: string[] } = { findings: [], rest: [] };
  if (!(error instanceof ApiError) || !Array.isArray(error.details)) {
    return { findings: [], rest: [error instanceof Error ? error.message : String(error)] };
  }
  for (const detail of error.details) {
    if (!isObject(detail)) continue;
    const message = String(detail["message"] ?? "").replace(/ \(document \d+, at [^)]*\)$/, "");
    const [, at, pointer] = /^\/(\d+)(.*)$/s.exec(String(detail["target"] ?? "")) ?? [];
    const origin = at === undefined ? undefined : origins[Number(at)];
    if (origin === undefined) {
      found.rest.push(message);
      continue;
    }
    const place = locate(origin.source.text, origin.pointer + (pointer ?? ""));
    const code = String(detail["code"] ?? "");
    found.findings.push({ source: origin.source.name, code, message, ...place });
  }
  if (found.findings.length === 0 && found.rest.length === 0) found.rest.push(error.message);
  return found;
}
