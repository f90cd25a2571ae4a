import { json } from "@codemirror/lang-json";
import { useMemo } from "react";

import { renderJson } from "../api/json";
import type { JsonObject } from "../api/types";
import { Code } from "../code/Code";

const LANGUAGE = json();
// PERF: what an editor holds without trouble; the export has all.
const LONGEST = 2_000_000;

/** The rows as text that can be folded and searched. */
export function JsonView({ rows }: { rows: JsonObject[] }) {
  const { text, shown } = useMemo(() => renderRows(rows, LONGEST), [rows]);
  return (
    <div className="results-json">
      {shown < rows.length && (
        <p className="muted results-cut">
          The first {shown.toLocaleString()} of {rows.length.toLocaleString()} rows; the export has
          them all.
        </p>
      )}
      <Code
        className="results-code"
        label="Rows as JSON"
        value={text}
        extensions={LANGUAGE}
        folding
      />
    </div>
  );
}

/** Rows as indented JSON, whole ones only, of at most `longest` characters but for the first. */
export function renderRows(
  rows: readonly JsonObject[],
  longest: number,
): { text: string; shown: number } {
  const parts: string[] = [];
  let length = 0;
  for (const row of rows) {
    const part = renderJson(row, 2);
    if (length > 0 && length + part.length > longest) break;
    length += part.length;
    parts.push(part);
  }
  return { text: parts.length === 0 ? "[]" : `[${parts.join(", ")}]`, shown: parts.length };
}
