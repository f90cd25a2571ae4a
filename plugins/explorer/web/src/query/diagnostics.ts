import type { Diagnostic } from "@codemirror/lint";

import { ApiError } from "../api/errors";
import type { QueryWarning } from "../api/types";
import { offsetOf, rangeAt, readPlace } from "./place";

/** What a run or a check found wrong with a text. */
export interface Finding {
  /** The very text that was sent, by which the places are counted. */
  text: string;
  /** How much of it was put in front of what the user wrote. */
  prefix?: number;
  error: unknown;
  warnings: readonly QueryWarning[];
}

/** The findings as CodeMirror underlines them. What has no place stands nowhere: the strip tells it. */
export function buildDiagnostics(finding: Finding): Diagnostic[] {
  const { text, error, warnings, prefix = 0 } = finding;
  const found: Diagnostic[] = warnings.map((warning) => buildWarning(text, warning));
  const place = error instanceof ApiError ? readPlace(error.message) : null;
  if (place !== null) {
    found.push({ ...rangeAt(text, offsetOf(text, place)), severity: "error", message: place.text });
  }
  return found.map((one) => ({
    ...one,
    from: Math.max(0, one.from - prefix),
    to: Math.max(0, one.to - prefix),
  }));
}

function buildWarning(text: string, warning: QueryWarning): Diagnostic {
  const { from, to } = rangeOf(text, warning);
  return {
    from,
    to,
    severity: "warning",
    message: warning.message,
    actions: fixesOf(warning),
  };
}

function rangeOf(text: string, warning: QueryWarning): { from: number; to: number } {
  return rangeAt(text, offsetOf(text, warning));
}

function fixesOf(warning: QueryWarning): NonNullable<Diagnostic["actions"]> {
  const { suggestion } = warning;
  if (suggestion === undefined || suggestion === null) return [];
  return [
    {
      name: `Replace by ${suggestion}`,
      apply: (view, from, to) =>
        view.dispatch({
          changes: { from, to, insert: spell(view.state.sliceDoc(from, to), suggestion) },
        }),
    },
  ];
}

/** The text with the suggestion of a warning in the place of what it warns of. */
export function applySuggestion(text: string, warning: QueryWarning): string {
  if (warning.suggestion === undefined || warning.suggestion === null) return text;
  const { from, to } = rangeOf(text, warning);
  return text.slice(0, from) + spell(text.slice(from, to), warning.suggestion) + text.slice(to);
}

/** The suggestion between whatever quotes the old name stood in, or such as it needs. */
function spell(old: string, suggestion: string): string {
  const [first = ""] = old;
  if ("'\"".includes(first) && first !== "") return `${first}${suggestion}${first}`;
  if (old.startsWith("[[")) return `[[${suggestion}]]`;
  if (first === "`" || !/^\$?[\p{L}_][\p{L}\p{N}_]*$/u.test(suggestion)) {
    return `\`${suggestion.replaceAll("`", "``")}\``;
  }
  return suggestion;
}
