import { PencilLine } from "lucide-react";
import { useEffect, useState } from "react";
import { Button, Tooltip, TooltipTrigger } from "react-aria-components";

import { useNotices } from "../app/notices";
import { openBulk } from "../bulk/store";
import { cancelQuery, fetchMore, ROWS_LIMIT, runQuery } from "../query/run";
import { useSession } from "../session/session";
import { useMoment } from "../time/moment";
import { TimeToggle } from "../time/TimeBar";
import { Box, ExportDialog } from "./ExportDialog";
import { collectDocuments, leaveOut } from "./documents";
import { isGone } from "./gone";
import { useSince } from "./since";
import { useResults } from "./store";

interface Props {
  /** What stands in the editor, which the rows may not be of. */
  written: string;
  spread: boolean;
  onSpread(spread: boolean): void;
}

/** How many rows in which time at which charge, and what may be done with them. */
export function ResultBar({ written, spread, onSpread }: Props) {
  const { graph } = useSession();
  const { rows, continuationToken, activity, view, explained } = useResults();
  const isPast = useMoment((state) => state.asOf !== null);
  const nested = rows.length > 0 && view === "table";
  return (
    <div className="results-facts">
      {nested && (
        <Box isSelected={spread} onChange={onSpread}>
          Nested<span className="results-word"> members as columns</span>
        </Box>
      )}
      <span role="status" className="results-count">
        {activity === "running" ? (
          <Elapsed />
        ) : view === "plan" && explained !== null ? (
          `${explained.run === undefined ? "Planned" : "Profiled"} in ${time(explained.milliseconds)}`
        ) : (
          <Facts written={written} />
        )}
      </span>
      {activity === "idle" && view !== "plan" && <ChangedSince />}
      {activity === "more" && (
        <Button className="button button-small button-danger" onPress={cancelQuery}>
          Stop
        </Button>
      )}
      {activity === "idle" && continuationToken !== null && view !== "plan" && (
        <>
          <Button className="button button-small" onPress={() => void fetchMore(graph)}>
            More rows
          </Button>
          <Button
            className="button button-small"
            onPress={() => void fetchMore(graph, rows.length + ROWS_LIMIT)}
          >
            {rows.length < ROWS_LIMIT ? "All" : `${ROWS_LIMIT.toLocaleString()} more`}
          </Button>
        </>
      )}
      {nested && <EditTwins />}
      {rows.length > 0 && <ExportDialog spread={spread} />}
      {(rows.length > 0 || isPast) && <TimeToggle />}
    </div>
  );
}

/** So many twins are shown before they are set; beyond, the query is the better way to choose. */
const MOST_EDITED = 5000;

/** Sets a property of the twins of the rows that are loaded. */
function EditTwins() {
  const { may } = useSession();
  const rows = useResults((state) => state.rows);
  // PERF: what kind of rows they are is seen by the first.
  if (!may("digitaltwins/write") || collectDocuments(rows.slice(0, 1)).twins.length === 0) {
    return null;
  }
  const edit = (): void => {
    const { twins } = leaveOut(collectDocuments(rows), isGone);
    if (twins.length <= MOST_EDITED) openBulk(twins.map((one) => one.$dtId));
    else {
      const most = MOST_EDITED.toLocaleString();
      const told = `The rows have ${twins.length.toLocaleString()} twins. Narrow the query to ${most}.`;
      useNotices.getState().sayError(new Error(told));
    }
  };
  return (
    <Button className="button button-small" onPress={edit}>
      <PencilLine size={13} aria-hidden /> <span className="results-word">Edit twins</span>
    </Button>
  );
}

function Facts({ written }: { written: string }) {
  const { query, rows, continuationToken, charge, milliseconds, view, sorting } = useResults();
  const isPart = continuationToken !== null && view === "table" && sorting.length > 0;
  if (query === "" || milliseconds === null) return null;
  const count = rows.length.toLocaleString();
  const charged = charge === null ? "" : `; ${charge.toFixed(2)} query units`;
  const plural = rows.length === 1 && continuationToken === null ? "row" : "rows";
  return (
    <>
      <strong>
        {count}
        {continuationToken === null ? "" : "+"} {plural}
      </strong>
      <span title={`From the call to the first page, as seen from here${charged}`}>
        {time(milliseconds)}
      </span>
      {isPart && (
        <em title="The rows that are not loaded yet may belong between these: load all, or ask the query to sort">
          sorted: the rows loaded
        </em>
      )}
      {continuationToken !== null && rows.length >= ROWS_LIMIT && (
        <em title="More rows take memory and time of this page; they come when you ask for them">
          stopped here: {ROWS_LIMIT.toLocaleString()} rows come at a time
        </em>
      )}
      {query !== written && <em>of the query before</em>}
      {charge !== null && (
        <span
          className="results-charge"
          title="What the service charged for all pages so far (header query-charge)"
        >
          {charge.toFixed(2)} query units
        </span>
      )}
    </>
  );
}

/** That the graph is no longer the one that was asked; quiet where it is. */
function ChangedSince() {
  const { graph, graphId } = useSession();
  const { query, parameters, milliseconds, statistics } = useResults();
  const { changes, missed } = useSince();
  // What has written is not run again by a word in passing.
  if (statistics !== null || query === "" || milliseconds === null || (changes === 0 && !missed))
    return null;
  const count = `${changes.toLocaleString()} ${changes === 1 ? "change" : "changes"}`;
  return (
    <TooltipTrigger delay={200}>
      <Button
        className="button button-small results-since"
        onPress={() => void runQuery({ graph, graphId, text: query, parameters })}
      >
        Run again ({missed ? "changed" : count})
      </Button>
      <Tooltip>
        {missed ? "There may have been changes" : count} in the graph since the query ran. Twins in
        the rows are as they are now; other values, and which rows there are, are of then.
      </Tooltip>
    </TooltipTrigger>
  );
}

/** The time that a query has run so far. */
function Elapsed() {
  const since = useResults((state) => state.since);
  const [now, setNow] = useState(since);
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return <span aria-hidden>{time(Math.max(0, now - since))}</span>;
}

function time(milliseconds: number): string {
  return milliseconds < 10_000
    ? `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`
    : `${(milliseconds / 1000).toFixed(1)} s`;
}
