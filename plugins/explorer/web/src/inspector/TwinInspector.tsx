import { useQuery } from "@tanstack/react-query";

import { ApiError } from "../api/errors";
import type { Twin } from "../api/types";
import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { useLive } from "../live/store";
import { ModelLink } from "../models/Contents";
import { useModels } from "../models/useModels";
import { useSession } from "../session/session";
import { showText } from "../app/showText";
import { Breadcrumbs } from "../locations/Breadcrumbs";
import { Within } from "../locations/Within";
import { labelOf } from "../picture/model";
import { SparksOf } from "../time/sparks";
import { draftKey } from "./drafts";
import { Editor } from "./Editor";
import { History } from "./History";
import { LostDraft } from "./LostDraft";
import { Moment } from "./Moment";
import { Properties } from "./Properties";
import { Relationships } from "./Relationships";
import { listTelemetry } from "./components";
import { Telemetry } from "./Telemetry";
import { TwinActions } from "./TwinActions";

/** A twin: what it is, its properties by its model, and what it is connected with. */
export function TwinInspector({ id }: { id: string }) {
  const { graph, graphId, asOf, may } = useSession();
  const { index } = useModels();
  const lit = useLive((state) => state.lit.get(id));
  const sends = useLive((state) => state.telemetry.has(id));
  const queryKey = ["twin", graphId, id];
  const twin = useQuery({
    queryKey,
    queryFn: ({ signal }) => graph.readTwin(id, signal),
    enabled: may("digitaltwins/read"),
    // While moments are gone through, the twin stays until it is read as of the next one.
    placeholderData: (before, asked) => (asked?.queryKey[2] === id ? before : undefined),
  });
  if (!may("digitaltwins/read")) {
    return <p className="inspector-none muted">You may not read the twins of this graph.</p>;
  }
  const gone = twin.error instanceof ApiError && twin.error.status === 404;
  if (twin.error !== null && (gone || twin.data === undefined)) {
    const missing =
      asOf === null ? "There is no such twin (any more)" : "There was no such twin then";
    const title = gone ? missing : "The twin cannot be read";
    return (
      <>
        <Failure title={title} error={twin.error} onRetry={() => void twin.refetch()} />
        {gone && <LostDraft of={draftKey(graphId, id)} />}
        {gone && <History of={{ kind: "twin", id }} version="" />}
      </>
    );
  }
  if (twin.data === undefined) return <Waiting label={`Loading ${id}`} />;
  const model = twin.data.$metadata.$model;
  const tabs = [
    {
      id: "relationships",
      name: "Relationships",
      content: <Relationships id={id} model={model} />,
    },
  ];
  if (sends || listTelemetry(model, index).size > 0) {
    const content = <Telemetry id={id} model={model} />;
    tabs.push({ id: "telemetry", name: "Telemetry", content });
  }
  const history = <History of={{ kind: "twin", id }} version={twin.data.$etag} />;
  tabs.push({ id: "history", name: "History", content: history });
  return (
    <>
      <TwinHeader twin={twin.data} />
      <Editor
        label={id}
        document={twin.data}
        readOnly={!may("digitaltwins/write")}
        lit={lit}
        tabs={tabs}
        access={{
          key: draftKey(graphId, id),
          of: { kind: "twin", id },
          graphId,
          queryKey,
          read: () => graph.readTwin(id),
          patch: (patch, etag) => graph.patchTwin(id, patch, etag),
        }}
      >
        <SparksOf twin={twin.data}>
          <Properties contents={index.interfaces.get(model)?.contents ?? []} index={index} />
        </SparksOf>
      </Editor>
    </>
  );
}

function TwinHeader({ twin }: { twin: Twin }) {
  const { index } = useModels();
  const changed = twin.$metadata["$lastUpdateTime"];
  const name = labelOf(twin.$dtId, twin);
  return (
    <header className="inspector-header">
      <Breadcrumbs id={twin.$dtId} />
      <h2 title={twin.$dtId}>
        {name !== twin.$dtId && <>{showText(name)} </>}
        <span className={name === twin.$dtId ? undefined : "inspector-second"}>
          {showText(twin.$dtId)}
        </span>
      </h2>
      <p className="inspector-facts">
        <ModelLink id={twin.$metadata.$model} index={index} />
        {typeof changed === "string" && <Moment title="Last change" value={changed} />}
        <span className="inspector-etag" title={`ETag ${twin.$etag}`}>
          ETag <code>{twin.$etag.replace(/^W\/"|"$/g, "").slice(0, 8)}</code>
        </span>
      </p>
      <TwinActions twin={twin} />
      <Within key={twin.$dtId} id={twin.$dtId} />
    </header>
  );
}
