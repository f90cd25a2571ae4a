import { useEffect } from "react";

import { renderJson } from "../api/json";
import type { StatementPage } from "../api/types";
import { Failure } from "../app/Failure";
import { showText } from "../app/showText";
import { FormFrame } from "../inspector/FormFrame";
import { isRelationship, isTwin } from "../results/documents";
import { listStatistics } from "../results/statistics";
import { runPending, usePending, type Pending } from "./run";
import { useQueries } from "./store";

const MOST_ROWS = 50;

/** Asks before a statement writes, and shows what its rehearsal has found. */
export default function StatementDialog({ pending }: { pending: Pending }) {
  const { question, rehearsed, error } = pending;
  const close = (): void => usePending.setState({ pending: null });
  // What waits belongs to this view.
  useEffect(() => () => usePending.setState({ pending: null }), []);
  const counts = rehearsed === null ? [] : listStatistics(rehearsed.statistics);
  const deletes =
    rehearsed === null ||
    rehearsed.statistics.nodesDeleted + rehearsed.statistics.relationshipsDeleted > 0;
  const run = async (): Promise<void> => {
    close();
    const outcome = await runPending(pending);
    const parameters =
      Object.keys(question.parameters).length === 0 ? "" : renderJson(question.parameters, 2);
    if (outcome !== null) useQueries.getState().remember(question.text, parameters, outcome);
  };
  return (
    <FormFrame
      title="Run this statement? It writes to the graph"
      submit={rehearsed === null ? "Run without a rehearsal" : "Run it"}
      danger={deletes}
      isReady
      onSubmit={run}
      onClose={close}
    >
      <pre className="query-statement">{showText(question.text)}</pre>
      {rehearsed === null ? (
        <Failure title="It could not be rehearsed, so it is not known what it does" error={error} />
      ) : (
        <>
          {counts.length === 0 ? (
            <p>It would change nothing.</p>
          ) : (
            <>
              <p>It would change:</p>
              <ul aria-label="Changes" className="query-changes">
                {counts.map((one) => (
                  <li key={one}>{one}</li>
                ))}
              </ul>
            </>
          )}
          <Answer page={rehearsed} />
          <p className="muted">
            It was rehearsed: it ran, and nothing of it was kept. What others write until you run it
            may change the result.
          </p>
        </>
      )}
    </FormFrame>
  );
}

/** The rows that it would answer, the first of them in short. */
function Answer({ page }: { page: StatementPage }) {
  const { value: rows, columns } = page;
  if (rows.length === 0) return null;
  const shown = rows.slice(0, MOST_ROWS);
  const rest = rows.length - shown.length;
  return (
    <>
      <table className="query-preview" aria-label="Rows of the rehearsal">
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {showText(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row, at) => (
            <tr key={at}>
              {columns.map((name) => (
                <td key={name}>{showText(brief(row[name]))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rest > 0 && (
        <p className="muted">
          and {rest.toLocaleString("en")} further {rest === 1 ? "row" : "rows"}
        </p>
      )}
    </>
  );
}

/** A value in one line: an entity by its id. */
function brief(value: StatementPage["value"][number][string] | undefined): string {
  if (value === undefined) return "";
  if (isTwin(value)) return value.$dtId;
  if (isRelationship(value)) {
    return `${value.$sourceId} –${value.$relationshipName}→ ${value.$targetId}`;
  }
  const text = typeof value === "string" ? value : renderJson(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
