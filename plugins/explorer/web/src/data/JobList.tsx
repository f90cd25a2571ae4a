import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  Button,
  Disclosure,
  DisclosurePanel,
  Heading,
  Label,
  ProgressBar,
} from "react-aria-components";
import { useLocation } from "wouter";

import { renderJson } from "../api/json";
import { isOver, readRefused, type DeleteJob, type ImportJob } from "../api/transfer";
import { routeOf } from "../app/addresses";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { Moment } from "../inspector/Moment";
import { renderLink } from "../query/share";
import { saveFile } from "../results/download";
import { useSession } from "../session/session";
import { DeleteGraph } from "./DeleteGraph";
import { rateOf, tellBytes, tellDeleted, tellImported, tellReplaced } from "./numbers";
import { useJobs, useTransfer } from "./useJobs";

const WORDS: Record<ImportJob["status"], string> = {
  notstarted: "waits",
  running: "runs",
  failed: "failed",
  succeeded: "done",
  cancelling: "is being cancelled",
  cancelled: "cancelled",
};

/** All jobs: what they have done, what they refused, and how to end or repeat them. */
export function JobList() {
  const { may } = useSession();
  const { data, error, refetch } = useJobs();
  if (error !== null && data === undefined) {
    return <Failure title="The jobs cannot be read" error={error} onRetry={() => void refetch()} />;
  }
  if (data === undefined) return <Waiting label="Reading the jobs" />;
  const { imports, deletions } = data;
  return (
    <>
      {imports.length + deletions.length === 0 && (
        <p className="muted">There is no job. Imports and deletions of the whole graph are jobs.</p>
      )}
      <ul className="data-jobs" aria-label="Jobs">
        {imports.map((job) => (
          <li key={job.id}>
            <ImportCard job={job} />
          </li>
        ))}
        {deletions.map((job) => (
          <li key={job.id}>
            <DeletionCard job={job} />
          </li>
        ))}
      </ul>
      {may("jobs/deletions/write") && <DeleteGraph />}
    </>
  );
}

function StatusWord({ job }: { job: ImportJob | DeleteJob }) {
  return <span className={`data-status data-status-${job.status}`}>{WORDS[job.status]}</span>;
}

/** One import, with what it has done. */
export function ImportCard({ job }: { job: ImportJob }) {
  const rate = rateOf(job);
  const share = job.totalBytes > 0 ? Math.min(job.bytesRead / job.totalBytes, 1) : null;
  const { may } = useSession();
  const skipped = job.modelsSkipped > 0 ? ` ${job.modelsSkipped} models were there already.` : "";
  return (
    <article className="data-job" aria-label={`Import ${job.id}`}>
      <header>
        <strong>{showText(job.id)}</strong>
        <StatusWord job={job} />
        <span className="muted">
          import, begun <Moment title="Begun" value={job.createdDateTime} />
        </span>
        <ImportActions job={job} />
      </header>
      {!isOver(job) && (
        <ProgressBar
          className="data-progress"
          isIndeterminate={share === null}
          value={(share ?? 0) * 100}
        >
          {({ percentage, valueText }) => (
            <>
              <Label>
                {share === null ? "Reading" : `Reading ${tellBytes(job.totalBytes)}: ${valueText}`}
              </Label>
              <span className="data-bar">
                <span style={{ width: `${percentage ?? 30}%` }} />
              </span>
            </>
          )}
        </ProgressBar>
      )}
      <p role="status">
        {tellImported(job)} stored
        {!isOver(job) && `, up to line ${job.linesRead.toLocaleString()}`}
        {rate !== null && `, ${Math.round(rate).toLocaleString()} a second`}.{skipped}{" "}
        {tellReplaced(job)}
      </p>
      {job.error !== undefined && !tellsRefused(job) && (
        <p className="data-error">{showText(job.error.message)}</p>
      )}
      {isOver(job) && job.twinsCreated > 0 && may("query/read") && <ShowImported job={job} />}
      {job.errorCount > 0 && <RefusedLines job={job} />}
    </article>
  );
}

/** Leads to a picture of the twins that came in, or of the first of them. */
function ShowImported({ job }: { job: ImportJob }) {
  const { graphId } = useSession();
  const client = useTransfer();
  const [, navigate] = useLocation();
  const { say, sayError } = useNotices();
  const show = async (): Promise<void> => {
    const imported = await client.readFirstTwins(job.id);
    const text = "MATCH (t)\nWHERE t.$dtId IN $imported\nRETURN t";
    const parameters = renderJson({ imported });
    navigate(routeOf(graphId, "query") + renderLink({ text, parameters, view: "graph" }));
    if (imported.length < job.twinsCreated) {
      const all = job.twinsCreated.toLocaleString();
      say(`These are the first ${imported.length.toLocaleString()} of ${all} twins.`);
    }
  };
  return (
    <Button className="button button-small" onPress={() => void show().catch(sayError)}>
      Show what came in
    </Button>
  );
}

/** Whether the error says no more than that lines were refused, which leads to them below. */
function tellsRefused({ error, errorCount }: ImportJob): boolean {
  return errorCount > 0 && error?.code === "ValidationFailed";
}

function ImportActions({ job }: { job: ImportJob }) {
  const { graphId, may } = useSession();
  const client = useTransfer();
  const queries = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const act = (run: () => Promise<unknown>): void => {
    setBusy(true);
    run()
      .catch(useNotices.getState().sayError)
      .finally(() => {
        setBusy(false);
        void queries.invalidateQueries({ queryKey: ["jobs", graphId] });
      });
  };
  const over = isOver(job);
  // One that has read its file to the end has nothing to go on with, nor has one whose file is
  // broken: another file is another job.
  const isBroken = job.error?.code === "ImportFileInvalid";
  const mayResume = over && job.status !== "succeeded" && job.errorCount === 0 && !isBroken;
  return (
    <span className="data-actions">
      {!over && job.status !== "cancelling" && may("jobs/imports/cancel") && (
        <Button
          className="button button-small"
          isDisabled={isBusy}
          onPress={() => act(() => client.cancelImport(job.id))}
        >
          Cancel
        </Button>
      )}
      {mayResume && may("jobs/imports/write") && (
        <Button
          className="button button-small"
          isDisabled={isBusy}
          onPress={() => act(() => client.resumeImport(job.id))}
        >
          Go on
        </Button>
      )}
      {over && may("jobs/imports/delete") && (
        <Button
          className="button button-small button-quiet"
          aria-label={`Delete the job ${job.id}`}
          isDisabled={isBusy}
          onPress={() => act(() => client.deleteImport(job.id))}
        >
          Delete job
        </Button>
      )}
    </span>
  );
}

/** So many refused lines are shown; the log has all of them. */
const MOST_LINES = 200;

function RefusedLines({ job }: { job: ImportJob }) {
  const { graphId } = useSession();
  const client = useTransfer();
  const [isOpen, setOpen] = useState(false);
  const { data, error } = useQuery({
    queryKey: ["jobs", graphId, job.id, "log", job.errorCount],
    queryFn: async ({ signal }) => {
      const log = await client.readLog(job.id, signal);
      return { log, ...readRefused(await log.text(), MOST_LINES) };
    },
    enabled: isOpen,
    placeholderData: (before) => before,
  });
  return (
    <Disclosure isExpanded={isOpen} onExpandedChange={setOpen} className="data-refused">
      <Heading level={3}>
        <Button slot="trigger" className="button button-small">
          {job.errorCount.toLocaleString()} {job.errorCount === 1 ? "was" : "were"} refused
        </Button>
      </Heading>
      <DisclosurePanel>
        {error !== null && <Failure title="The log cannot be read" error={error} />}
        {data === undefined && error === null && <Waiting label="Reading the log" />}
        {data !== undefined && (
          <>
            {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it is scrolled by keys */}
            <div className="data-scroll" tabIndex={0} role="region" aria-label="What was refused">
              <table className="data-table">
                <thead>
                  <tr>
                    <th scope="col">Where</th>
                    <th scope="col">Section</th>
                    <th scope="col">Id</th>
                    <th scope="col">Why</th>
                  </tr>
                </thead>
                <tbody>
                  {data.lines.map((one) => (
                    <tr key={one.where}>
                      <td className="data-long">
                        {typeof one.where === "string"
                          ? showText(one.where)
                          : `line ${one.where.toLocaleString()}`}
                      </td>
                      <td>{one.section}</td>
                      <td className="data-long">{one.id === null ? "–" : showText(one.id)}</td>
                      <td>{showText(one.message)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <p className="muted">
              {data.count > data.lines.length &&
                `The first ${data.lines.length} of ${data.count.toLocaleString()}. `}
              <Button
                className="button button-small"
                onPress={() => saveFile([data.log], `${job.id}.log`, "application/x-ndjson")}
              >
                Download the log
              </Button>
            </p>
          </>
        )}
      </DisclosurePanel>
    </Disclosure>
  );
}

function DeletionCard({ job }: { job: DeleteJob }) {
  return (
    <article className="data-job" aria-label={`Deletion ${job.id}`}>
      <header>
        <strong>Deletion of the whole graph</strong>
        <StatusWord job={job} />
        <span className="muted">
          begun <Moment title="Begun" value={job.createdDateTime} />
        </span>
      </header>
      <p role="status">{tellDeleted(job)} deleted.</p>
      {job.error !== undefined && <p className="data-error">{showText(job.error.message)}</p>}
    </article>
  );
}
