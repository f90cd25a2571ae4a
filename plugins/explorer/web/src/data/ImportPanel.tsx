import { useQuery, useQueryClient } from "@tanstack/react-query";
import { FileUp } from "lucide-react";
import { useState } from "react";
import {
  Button,
  DropZone,
  FileTrigger,
  Label,
  Link,
  ProgressBar,
  Text,
} from "react-aria-components";

import { isOver } from "../api/transfer";
import { routeOf } from "../app/addresses";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { showText } from "../app/showText";
import { Box } from "../results/ExportDialog";
import { useSession } from "../session/session";
import { MOST_GRAPH_BYTES } from "./graphFile";
import { ACCEPTED, importFile, stopSending, useImporting } from "./importing";
import { ImportCard } from "./JobList";
import { tellBytes } from "./numbers";
import { useJobs, useTransfer } from "./useJobs";

/** Takes a file, hands it over, and follows the job that reads it. */
export function ImportPanel() {
  const { graphId } = useSession();
  const give = useImport();
  const [history, setHistory] = useState(true);
  const { phase } = useImporting();
  const isBusy = phase === "sending";
  const { data } = useUploads();
  if (data?.mostBytes === 0) {
    return (
      <p className="muted">
        The operator of this service allows no uploads (<code>Jobs__MaxUploadBytes=0</code>).
      </p>
    );
  }
  return (
    <>
      <DropZone
        className="data-drop"
        isDisabled={isBusy}
        getDropOperation={() => "copy"}
        onDrop={({ items }) => {
          const [first] = items.filter((one) => one.kind === "file");
          if (first !== undefined) {
            first.getFile().then((file) => give(file, history), useNotices.getState().sayError);
          }
        }}
      >
        <FileUp size={28} aria-hidden />
        <Text slot="label">Drop the file of a graph here</Text>
        <FileTrigger
          acceptedFileTypes={ACCEPTED}
          onSelect={(files) => {
            const [file] = files ?? [];
            if (file !== undefined) give(file, history);
          }}
        >
          <Button className="button button-primary" isDisabled={isBusy}>
            Choose a file
          </Button>
        </FileTrigger>
        <p className="muted">
          A graph as NDJSON, from an export or the vendor’s import jobs, or as the JSON that the
          vendor’s explorer exports, up to {tellBytes(MOST_GRAPH_BYTES)} of it (<code>.ndjson</code>{" "}
          or <code>.json</code>, also with <code>.gz</code>)
          {data !== undefined && `; files up to ${tellBytes(data.mostBytes)}`}. Models alone:
          Models, Upload.
        </p>
      </DropZone>
      <Box isSelected={history} onChange={setHistory}>
        With the history of the file, if it has one (only an empty graph takes it)
      </Box>
      <ImportProgress graphId={graphId} />
      <Interrupted />
    </>
  );
}

/** Starts an import in the graph of the session. */
export function useImport(): (file: File, history?: boolean) => void {
  const { graphId } = useSession();
  const client = useTransfer();
  const queries = useQueryClient();
  return (file, history = true) => {
    importFile(client, graphId, file, history)
      .catch(() => undefined) // shown by `ImportProgress`
      .finally(() => {
        void queries.invalidateQueries({ queryKey: ["jobs", graphId] });
        void queries.invalidateQueries({ queryKey: ["uploads", graphId] });
      });
  };
}

/** How far the file is on its way to the service, then how far its job is. */
export function ImportProgress({ graphId }: { graphId: string }) {
  const importing = useImporting();
  const jobs = useJobs().data;
  if (importing.phase === "none" || importing.graphId !== graphId) return null;
  const { phase, name, sent, bytes, error } = importing;
  if (phase === "failed") return <Failure title={`${name} was not imported`} error={error} />;
  const job = jobs?.imports.find((one) => one.id === importing.jobId);
  if (phase === "over") {
    return job === undefined ? null : (
      <>
        <ImportCard job={job} />
        {isOver(job) && job.twinsCreated > 0 && (
          <p>
            Look at it in the <Link href={routeOf(graphId, "overview")}>overview</Link>, or{" "}
            <Link href={routeOf(graphId, "query")}>ask for some of it</Link>.
          </p>
        )}
      </>
    );
  }
  return (
    <section className="data-job" aria-label="Sending">
      <ProgressBar className="data-progress" value={bytes === 0 ? 0 : (sent / bytes) * 100}>
        {({ percentage }) => (
          <>
            <Label>
              Sending {showText(name)}: {tellBytes(sent)} of {tellBytes(bytes)}
            </Label>
            <span className="data-bar">
              <span style={{ width: `${percentage ?? 0}%` }} />
            </span>
          </>
        )}
      </ProgressBar>
      <Button className="button button-small" onPress={stopSending}>
        Stop
      </Button>
    </section>
  );
}

function useUploads() {
  const { graphId } = useSession();
  const client = useTransfer();
  return useQuery({
    queryKey: ["uploads", graphId],
    queryFn: ({ signal }) => client.listUploads(signal),
    staleTime: 0,
  });
}

/** Files whose way was interrupted, as by a reload of the page. */
function Interrupted() {
  const { graphId } = useSession();
  const client = useTransfer();
  const queries = useQueryClient();
  const { phase } = useImporting();
  const { data } = useUploads();
  const left = data?.value.filter((one) => one.jobId === null) ?? [];
  if (left.length === 0 || phase === "sending") return null;
  return (
    <section aria-label="Interrupted uploads">
      <h2>Interrupted uploads</h2>
      <p className="muted">
        Choose the same file again: only the rest is sent. What nobody goes on with is deleted.
      </p>
      <ul className="data-jobs">
        {left.map((one) => (
          <li key={one.id} className="data-job data-row">
            <span>
              <strong>{showText(one.name)}</strong>: {tellBytes(one.receivedBytes)} of{" "}
              {tellBytes(one.bytes)} are there
            </span>
            <Button
              className="button button-small button-quiet"
              aria-label={`Delete the upload ${one.name}`}
              onPress={() => {
                client
                  .deleteUpload(one.id)
                  .catch(useNotices.getState().sayError)
                  .finally(
                    () => void queries.invalidateQueries({ queryKey: ["uploads", graphId] }),
                  );
              }}
            >
              Delete
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
