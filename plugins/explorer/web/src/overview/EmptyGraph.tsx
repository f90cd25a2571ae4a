import { Boxes, FileUp, Sparkles } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Button, FileTrigger } from "react-aria-components";

import { ApiError } from "../api/errors";
import { besidePage } from "../app/addresses";
import { useNotices } from "../app/notices";
import "../data/data.css";
import { ACCEPTED, useImporting } from "../data/importing";
import { ImportProgress, useImport } from "../data/ImportPanel";
import { readChosen, type Given } from "../models/dropped";
import "../models/models.css";
import { UploadModels } from "../models/UploadModels";
import { useSession } from "../session/session";

/** What to begin with where there is nothing yet: the sample, models, or a whole graph. */
export default function EmptyGraph() {
  const { graphId, may } = useSession();
  const { sayError } = useNotices();
  const [given, setGiven] = useState<Given | null>(null);
  const give = useImport();
  const importing = useImporting();
  const isBusy = importing.phase === "sending";
  const mayImport = may("jobs/imports/write");
  const takeModels = (files: FileList): void => {
    readChosen(files).then((read) => {
      if (read.sources.length > 0) setGiven(read);
      else sayError(new Error("No file of these is a model: their names end with .json."));
    }, sayError);
  };
  if (!may("models/write") && !mayImport) {
    return (
      <p className="muted">This graph is empty, and you may not write to it. Ask who owns it.</p>
    );
  }
  return (
    <>
      <p>This graph is empty. Begin with one of these:</p>
      <div className="overview-beginnings">
        {mayImport && (
          <Beginning
            icon={<Sparkles size={20} aria-hidden />}
            name="Load the sample"
            text="A campus of four buildings: some 2,000 twins of 20 models, to try things with."
            action={
              <Button
                className="button button-primary"
                isDisabled={isBusy}
                onPress={() => void fetchSample().then(give, sayError)}
              >
                Load the sample
              </Button>
            }
          />
        )}
        {may("models/write") && (
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
        )}
        {mayImport && (
          <Beginning
            icon={<FileUp size={20} aria-hidden />}
            name="Import a graph"
            text="A file of an export, here or of the vendor’s service (.ndjson), or of the vendor’s explorer (.json); also with .gz."
            action={
              <FileTrigger
                acceptedFileTypes={ACCEPTED}
                onSelect={(files) => {
                  const [file] = files ?? [];
                  if (file !== undefined) give(file);
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
      <ImportProgress graphId={graphId} />
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

/** The sample campus as the service brings it, as a file. Throws `ApiError`. */
async function fetchSample(): Promise<File> {
  const answer = await fetch(besidePage("sample.ndjson"));
  if (!answer.ok) throw new ApiError(answer.status, "", "The service does not bring the sample.");
  return new File([await answer.blob()], "sample.ndjson", { lastModified: Date.now() });
}
