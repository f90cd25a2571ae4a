import { Check, TriangleAlert } from "lucide-react";
import { Button } from "react-aria-components";

import type { QueryWarning } from "../api/types";
import { Failure } from "../app/Failure";
import { listStatistics } from "./statistics";
import { useResults } from "./store";

interface Props {
  written: string;
  onFix(warning: QueryWarning): void;
}

/** What went wrong with the last query, and what the service warns of. */
export function Messages({ written, onFix }: Props) {
  const { error, failedAs, statistics, warnings, asked, query, rows, earlier, cancelled } =
    useResults();
  const isLater = rows.length > 0 && !earlier && asked === query;
  return (
    <>
      {error !== null && (
        <div className="results-error">
          <Failure
            title={failedAs || (isLater ? "The query ended behind these rows" : "The query failed")}
            error={error}
          />
        </div>
      )}
      {statistics !== null && !earlier && (
        <p className="results-written" role="status">
          <Check size={14} aria-hidden />{" "}
          {listStatistics(statistics).join(", ") || "Nothing was changed"}.
        </p>
      )}
      {cancelled && earlier && rows.length > 0 && (
        <p className="results-kept muted">
          The query was cancelled before its first rows came. These are of the one before.
        </p>
      )}
      {warnings.length > 0 && (
        <ul className="results-warnings" aria-label="Warnings">
          {warnings.map((warning) => (
            <li key={`${warning.line}:${warning.column}`}>
              <TriangleAlert size={14} aria-hidden />
              <span>{warning.message}</span>
              {/* A place counts in the text that was sent; another text has another there. */}
              {warning.suggestion != null && asked === written && (
                <Button className="button button-small" onPress={() => onFix(warning)}>
                  Replace by {warning.suggestion}
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
