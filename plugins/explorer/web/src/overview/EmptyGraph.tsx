import { useQueryClient } from "@tanstack/react-query";
import { Boxes, FileUp, Sparkles } from "lucide-react";
import { useRef, useState, type ReactNode } from "react";
import { Button, FileTrigger, ProgressBar } from "react-aria-components";

import { besidePage } from "../app/addresses";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { readChosen, type Given } from "../models/dropped";
import "../models/models.css";
import { UploadModels } from "../models/UploadModels";
import { useModels } from "../models/useModels";
import { useSession } from "../session/session";
import { fetchSample, loadGraph, readText, type Progress } from "./load";

/** What to begin with where there is nothing yet: the sample, models, or a whole graph. */
export default function EmptyGraph() {
  const { may } = useSession();
  const { sayError } = useNotices();
  const [given, setGiven] = useState<Given | null>(null);
  const { load, stop, progress, error, isBusy } = useLoad();
  const mayWrite =
    may("models/write") && may("digitaltwins/write") && may("digitaltwins/relationships/write");
  const takeModels = (files: FileList): void => {
    readChosen(files).then((read) => {
      if (read.sources.length > 0) setGiven(read);
      else sayError(new Error("No file of these is a model: their names end with .json."));
    }, sayError);
  };
  if (!may("models/write")) {
    return (
      <p className="muted">This graph is empty, and you may not write to it. Ask who owns it.</p>
    );
  }
  return (
    <>
      <p>This graph is empty. Begin with one of these:</p>
      <div className="overview-beginnings">
        {mayWrite && (
          <Beginning
            icon={<Sparkles size={20} aria-hidden />}
            name="Load the sample"
            text="A campus of four buildings: some 2,000 twins of 20 models, to try things with."
            action={
              <Button
                className="button button-primary"
                isDisabled={isBusy}
                onPress={() => load(() => fetchSample(besidePage("sample.ndjson")))}
              >
                Load the sample
              </Button>
            }
          />
        )}
        <Beginning
          icon={<Boxes size={20} aria-hidden />}
          name="Upload models"
          text="Files of DTDL say what twins there can be. They are checked before they are stored."
          action={
            <FileTrigger
              acceptedFileTypes={[".json", ".dtdl"]}
              allowsMultiple
              onSelect={(files) => files && takeModels(files)}
            >
              <Button className="button" isDisabled={isBusy}>
                Upload models
              </Button>
            </FileTrigger>
          }
        />
        {mayWrite && (
          <Beginning
            icon={<FileUp size={20} aria-hidden />}
            name="Import a graph"
            text="A file as an export writes it (.ndjson or .ndjson.gz), also of the vendor’s service."
            action={
              <FileTrigger
                acceptedFileTypes={[".ndjson", ".jsonl", ".gz"]}
                onSelect={(files) => {
                  const [file] = files ?? [];
                  if (file !== undefined) load(() => Promise.resolve(readText(file)));
                }}
              >
                <Button className="button" isDisabled={isBusy}>
                  Import a graph
                </Button>
              </FileTrigger>
            }
          />
        )}
      </div>
      {progress !== null && <Loaded progress={progress} isBusy={isBusy} onStop={stop} />}
      {error !== null && <Failure title="The graph was not loaded to its end" error={error} />}
      {given !== null && <UploadModels given={given} onClose={() => setGiven(null)} />}
    </>
  );
}

interface BeginningProps {
  icon: ReactNode;
  name: string;
  text: string;
  action: ReactNode;
}

function Beginning({ icon, name, text, action }: BeginningProps) {
  return (
    <section className="overview-card" aria-label={name}>
      <h2>
        {icon} {name}
      </h2>
      <p className="muted">{text}</p>
      {action}
    </section>
  );
}

/** Loads a graph; the start shows what came of it once all of it is there. */
function useLoad() {
  const { graph } = useSession();
  const { index } = useModels();
  const client = useQueryClient();
  const [progress, setProgress] = useState<Progress | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const running = useRef<AbortController | null>(null);
  const load = (open: () => Promise<ReadableStream<string>>): void => {
    const controller = new AbortController();
    running.current = controller;
    setError(null);
    setProgress({ models: 0, twins: 0, relationships: 0, refused: [], refusals: 0, left: 0 });
    setBusy(true);
    open()
      .then((text) =>
        loadGraph(graph, text, new Set(index.interfaces.keys()), setProgress, controller.signal),
      )
      .then((done) => {
        setProgress(done);
        if (done.refusals > 0) return;
        useNotices.getState().say(`${tellLoaded(done)} are loaded.`);
        void client.invalidateQueries();
      })
      .catch((problem: unknown) => {
        if (!controller.signal.aborted) setError(problem);
      })
      .finally(() => setBusy(false));
  };
  return { load, stop: () => running.current?.abort(), progress, error, isBusy };
}

function Loaded({
  progress,
  isBusy,
  onStop,
}: {
  progress: Progress;
  isBusy: boolean;
  onStop(): void;
}) {
  const client = useQueryClient();
  const { refused, refusals, left } = progress;
  return (
    <section className="overview-loaded" aria-label="Loading">
      {isBusy && (
        <ProgressBar isIndeterminate aria-label="Loading the graph" className="overview-progress">
          <span className="waiting-spinner" />
        </ProgressBar>
      )}
      <p role="status">{tellLoaded(progress)}</p>
      {isBusy ? (
        <Button className="button button-small" onPress={onStop}>
          Stop
        </Button>
      ) : (
        <Button className="button button-small" onPress={() => void client.invalidateQueries()}>
          Show the graph
        </Button>
      )}
      {left > 0 && (
        <p className="muted">
          {left.toLocaleString()} lines of its history are left out: <code>twinframe import</code>{" "}
          takes them.
        </p>
      )}
      {refusals > 0 && (
        <>
          <p className="overview-refused">
            {refusals.toLocaleString()} lines were refused, and are not in the graph:
          </p>
          <ul>
            {refused.map((one) => (
              <li key={one.line}>
                Line {one.line}: {one.why}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function tellLoaded({ models, twins, relationships }: Progress): string {
  return (
    `${models.toLocaleString()} models, ${twins.toLocaleString()} twins and ` +
    `${relationships.toLocaleString()} relationships`
  );
}
