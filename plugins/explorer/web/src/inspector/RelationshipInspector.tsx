import { useQuery } from "@tanstack/react-query";
import { ArrowRight } from "lucide-react";
import { useMemo } from "react";

import { ApiError } from "../api/errors";
import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { useLive } from "../live/store";
import { useModels } from "../models/useModels";
import { useCalledTwins } from "../results/called";
import { useSession } from "../session/session";
import { showText } from "../app/showText";
import { DeleteRelationship } from "./DeleteRelationship";
import { draftKey } from "./drafts";
import { Editor } from "./Editor";
import { History } from "./History";
import type { Kept } from "./history";
import { LostDraft } from "./LostDraft";
import { Properties } from "./Properties";
import { SelectLink } from "./SelectLink";

interface Props {
  sourceId: string;
  id: string;
}

/** A relationship: what it leads from and to, and its properties by the model of its source. */
export function RelationshipInspector({ sourceId, id }: Props) {
  const { graph, graphId, may } = useSession();
  const { index } = useModels();
  const lit = useLive((state) => state.lit.get(`${sourceId}\n${id}`));
  const allowed = may("digitaltwins/relationships/read");
  const queryKey = ["relationship", graphId, sourceId, id];
  const found = useQuery({
    queryKey,
    queryFn: ({ signal }) => graph.readRelationship(sourceId, id, signal),
    enabled: allowed,
  });
  const source = useQuery({
    queryKey: ["twin", graphId, sourceId],
    queryFn: ({ signal }) => graph.readTwin(sourceId, signal),
    enabled: may("digitaltwins/read"),
  });
  const name = found.data?.$relationshipName ?? "";
  const model = source.data?.$metadata.$model ?? "";
  const contents = useMemo(
    () => index.content(model, name)?.properties ?? [],
    [index, model, name],
  );
  if (!allowed) {
    return <p className="inspector-none muted">You may not read the relationships here.</p>;
  }
  const gone = found.error instanceof ApiError && found.error.status === 404;
  if (found.error !== null && (gone || found.data === undefined)) {
    const title = gone ? "There is no such relationship (any more)" : "It cannot be read";
    return (
      <>
        <Failure title={title} error={found.error} onRetry={() => void found.refetch()} />
        {gone && <LostDraft of={draftKey(graphId, sourceId, id)} />}
      </>
    );
  }
  if (found.data === undefined) return <Waiting label={`Loading ${id}`} />;
  const of: Kept = { kind: "relationship", sourceId, id };
  const history = <History of={of} version={found.data.$etag} />;
  return (
    <>
      <header className="inspector-header">
        <h2>{name}</h2>
        <p className="inspector-ends">
          <End id={sourceId} />
          <ArrowRight size={14} aria-label="to" />
          <End id={found.data.$targetId} />
        </p>
        <p className="inspector-facts">
          <code className="inspector-id" title={id}>
            {showText(id)}
          </code>
        </p>
        {may("digitaltwins/relationships/delete") && (
          <DeleteRelationship relationship={found.data} />
        )}
      </header>
      <Editor
        label={id}
        document={found.data}
        readOnly={!may("digitaltwins/relationships/write")}
        lit={lit}
        tabs={[{ id: "history", name: "History", content: history }]}
        access={{
          key: draftKey(graphId, sourceId, id),
          queryKey,
          read: () => graph.readRelationship(sourceId, id),
          of,
          graphId,
          patch: (patch, etag) => graph.patchRelationship(sourceId, id, patch, etag),
        }}
      >
        <Properties contents={contents} index={index} />
      </Editor>
    </>
  );
}

/** A twin at an end, by its name. */
function End({ id }: { id: string }) {
  const called = useCalledTwins([id]).get(id);
  return <SelectLink to={{ kind: "twin", id }}>{called?.name ?? id}</SelectLink>;
}
