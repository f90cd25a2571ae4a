import { Check as CheckIcon, CircleAlert, TriangleAlert } from "lucide-react";

import { readPlace } from "./place";
import { detectLanguage, findKind } from "./tokens";
import type { Check } from "./useCheck";

/** One line below the editor: which language it is, and what the service says of the text. */
export function EditorFoot({ text, check }: { text: string; check: Check }) {
  const writes = findKind(text) === "writes";
  const language = detectLanguage(text) === "adt" ? "Azure Digital Twins SQL" : "Cypher";
  return (
    <div className="query-foot">
      <span role="status" className="query-check">
        <Verdict check={check} />
      </span>
      {text.trim() !== "" && (
        <span className="muted">
          {language}
          {writes && ", writes to the graph: what it changes is shown before it runs"}
        </span>
      )}
    </div>
  );
}

function Verdict({ check }: { check: Check }) {
  const { state, finding, error } = check;
  if (state === "checking") return <span className="muted">Checking…</span>;
  if (state === "unchecked") {
    return (
      <span className="query-doubt">
        <TriangleAlert size={14} aria-hidden /> Not checked: {messageOf(error)}
      </span>
    );
  }
  if (finding === null) return null;
  if (state === "wrong") {
    const message = messageOf(finding.error);
    const place = readPlace(message);
    const line = (place?.line ?? 0) - (finding.prefix ? 1 : 0);
    return (
      <span className="query-wrong">
        <CircleAlert size={14} aria-hidden />
        <span>
          {place === null ? message : `Line ${line}, column ${place.column}: ${place.text}`}
        </span>
      </span>
    );
  }
  const { length } = finding.warnings;
  if (length > 0) {
    return (
      <span className="query-doubt">
        <TriangleAlert size={14} aria-hidden />
        <span>
          {finding.warnings[0]?.message}
          {length > 1 ? ` (and ${length - 1} more)` : ""}
        </span>
      </span>
    );
  }
  return (
    <span className="query-right">
      <CheckIcon size={14} aria-hidden /> No error found
    </span>
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
