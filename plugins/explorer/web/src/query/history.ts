import { parseJson } from "../api/json";
import type { Outcome } from "./run";

/** A query that was run, newest first in a list. */
export interface HistoryEntry {
  text: string;
  parameters: string;
  /** ISO 8601. */
  at: string;
  rows: number;
  more: boolean;
  milliseconds: number;
}

/** A query that was given a name. */
export interface SavedQuery {
  name: string;
  text: string;
  parameters: string;
}

export const HISTORY_LIMIT = 200;

/** The history with a run in front; the same query comes once. */
export function addEntry(
  history: readonly HistoryEntry[],
  text: string,
  parameters: string,
  outcome: Outcome,
  at: string,
): HistoryEntry[] {
  const others = history.filter((one) => one.text !== text || one.parameters !== parameters);
  return [{ text, parameters, at, ...outcome }, ...others].slice(0, HISTORY_LIMIT);
}

/** The saved queries with one more, by name; one of the same name is replaced. */
export function addSaved(saved: readonly SavedQuery[], query: SavedQuery): SavedQuery[] {
  return [...saved.filter((one) => one.name !== query.name), query].sort((one, other) =>
    one.name.localeCompare(other.name),
  );
}

/** What storage holds, whoever wrote it: entries that are none are left out. */
export function readHistory(stored: unknown): HistoryEntry[] {
  return listOf(stored)
    .flatMap((one) => {
      const { text, parameters, at, rows, more, milliseconds } = one;
      if (typeof text !== "string" || typeof at !== "string" || Number.isNaN(Date.parse(at)))
        return [];
      return [
        {
          text,
          parameters: textOf(parameters),
          at,
          rows: numberOf(rows),
          more: more === true,
          milliseconds: numberOf(milliseconds),
        },
      ];
    })
    .slice(0, HISTORY_LIMIT);
}

export function readSaved(stored: unknown): SavedQuery[] {
  return listOf(stored).flatMap(({ name, text, parameters }) =>
    typeof name === "string" && name !== "" && typeof text === "string"
      ? [{ name, text, parameters: textOf(parameters) }]
      : [],
  );
}

/** The saved queries of a file that `writeSaved` made. Throws an `Error` that says what is wrong. */
export function parseSaved(file: string): SavedQuery[] {
  let content: unknown;
  try {
    content = parseJson(file);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Error(`The file is no JSON: ${error.message}`, { cause: error });
  }
  const found = readSaved(content);
  if (found.length === 0) {
    throw new Error(
      'The file holds no saved query. It should be a list such as [{"name": "…", "text": "MATCH …"}].',
    );
  }
  return found;
}

function listOf(stored: unknown): Record<string, unknown>[] {
  if (!Array.isArray(stored)) return [];
  return stored.filter(
    (one): one is Record<string, unknown> => typeof one === "object" && one !== null,
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
