import { Upload } from "lucide-react";
import { Suspense, useMemo, useState, type ReactNode } from "react";
import {
  Button,
  DropZone,
  FileTrigger,
  Input,
  SearchField,
  ToggleButton,
  ToggleButtonGroup,
  type DropItem,
} from "react-aria-components";

import { latePart } from "../app/parts";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { useParameters } from "../app/search";
import { Waiting } from "../app/Waiting";
import { useSession } from "../session/session";
import { useCounts } from "./counts";
import { readChosen, readDropped, type Given } from "./dropped";
import { DownloadModels } from "./DownloadModels";
import "./graph/graph.css";
import { DeleteAll } from "./ModelActions";
import { ModelDetail } from "./ModelDetail";
import { ModelTree } from "./ModelTree";
import "./models.css";
import { searchModels } from "./search";
import { UploadModels } from "./UploadModels";
import { useModels } from "./useModels";

// PERF: what draws is large, and only here and for results.
const ModelGraph = latePart(() => import("./graph/ModelGraph"));

/** The models of the graph: by inheritance at the left, one of them whole at the right. */
export default function ModelsView() {
  const { may } = useSession();
  const { index, isLoading, error } = useModels();
  const counts = useCounts(index);
  const [parameters, setParameters] = useParameters();
  const [text, setText] = useState("");
  const [given, setGiven] = useState<Given | null>(null);
  const { sayError } = useNotices();
  const found = useMemo(() => searchModels(index, text), [index, text]);
  const current = parameters.get("id");
  const asGraph = parameters.get("show") === "graph";
  const go = (id: string | null, graph: boolean): void =>
    setParameters({ ...(graph ? { show: "graph" } : {}), ...(id === null ? {} : { id }) });
  const model = current === null ? undefined : index.interfaces.get(current);
  const size = index.interfaces.size;

  const take = (reading: Promise<Given>) => {
    reading.then((read) => {
      if (read.sources.length > 0) setGiven(read);
      else sayError(new Error("No file of these is a model: their names end with .json."));
    }, sayError);
  };
  if (!may("models/read")) {
    return <p className="models-empty muted">You may not read the models of this graph.</p>;
  }
  if (isLoading) return <Waiting label="Loading the models" />;
  if (error !== null) return <Failure title="The models cannot be read" error={error} />;
  const shown = (
    <div
      className={asGraph ? "models models-as-graph" : "models"}
      {...(current === null ? {} : { "data-chosen": true })}
    >
      <div className="models-side">
        <div className="models-tools">
          <SearchField
            aria-label="Search models"
            value={text}
            onChange={setText}
            className="react-aria-SearchField models-search"
          >
            <Input placeholder="Search name, DTMI, content" data-search />
          </SearchField>
          {may("models/write") && (
            <FileTrigger
              acceptedFileTypes={[".json", ".dtdl"]}
              allowsMultiple
              onSelect={(files) => files && take(readChosen(files))}
            >
              <Button className="button">
                <Upload size={14} aria-hidden /> Upload
              </Button>
            </FileTrigger>
          )}
          {size > 0 && (
            <div className="models-ways">
              <Ways asGraph={asGraph} onChange={(graph) => go(current, graph)} />
              <DownloadModels index={index} />
            </div>
          )}
        </div>
        {size === 0 ? (
          <p className="models-empty muted">
            No model is stored yet.
            {may("models/write") && " Drop files of DTDL here, or upload them."}
          </p>
        ) : asGraph ? (
          <Suspense fallback={<Waiting label="Loading the graph" />}>
            <ModelGraph
              index={index}
              found={found}
              current={current}
              onChoose={(id) => go(id, true)}
            />
          </Suspense>
        ) : (
          <ModelTree
            index={index}
            counts={counts}
            found={found}
            current={current}
            onChoose={(id) => go(id, false)}
          />
        )}
        <div className="models-foot">
          <span className="muted">
            {found === null ? `${size} models` : `${found.size} of ${size} models`}
            {counts !== null && `, ${counts.total.toLocaleString()} twins`}
          </span>
          <DeleteAll count={size} />
        </div>
      </div>
      {asGraph && current === null ? null : (
        <div className="models-main">
          {model === undefined ? (
            <p className="models-empty muted">
              {current === null
                ? "Choose a model to see what it has."
                : `There is no model ${current} in this graph.`}
            </p>
          ) : (
            <ModelDetail model={model} index={index} counts={counts} />
          )}
        </div>
      )}
      {given !== null && <UploadModels given={given} onClose={() => setGiven(null)} />}
    </div>
  );
  return may("models/write") ? (
    <Dropping onDrop={(items) => take(readDropped(items))}>{shown}</Dropping>
  ) : (
    shown
  );
}

/** Two ways to look at the same models; the address keeps which. */
function Ways({ asGraph, onChange }: { asGraph: boolean; onChange(asGraph: boolean): void }) {
  return (
    <ToggleButtonGroup
      aria-label="Models as"
      selectionMode="single"
      disallowEmptySelection
      selectedKeys={[asGraph ? "graph" : "tree"]}
      onSelectionChange={(keys) => onChange(keys.has("graph"))}
    >
      <ToggleButton id="tree" className="react-aria-ToggleButton button-small">
        Tree
      </ToggleButton>
      <ToggleButton id="graph" className="react-aria-ToggleButton button-small">
        Graph
      </ToggleButton>
    </ToggleButtonGroup>
  );
}

/** The whole view takes files. */
function Dropping({
  children,
  onDrop,
}: {
  children: ReactNode;
  onDrop: (items: DropItem[]) => void;
}) {
  return (
    <DropZone
      className="models-drop"
      aria-label="Drop files of models here"
      onDrop={(event) => onDrop(event.items)}
    >
      {children}
    </DropZone>
  );
}
