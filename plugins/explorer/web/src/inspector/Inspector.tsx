import { MousePointerClick } from "lucide-react";

import { useSelection, type Selected } from "../app/selection";
import { useSheet } from "../app/sheet";
import { useSession } from "../session/session";
import "./inspector.css";
import { ModelCard } from "./ModelCard";
import { NewTwinButton } from "./NewTwinButton";
import { RelationshipInspector } from "./RelationshipInspector";
import { TwinInspector } from "./TwinInspector";
import { TwinSearch } from "./TwinSearch";
import { Unsaved } from "./Unsaved";
import { useMayFind } from "./useMayFind";

export { CreateRelationship } from "./CreateRelationship";
export { NewTwin } from "./NewTwin";

/** What is selected, with its properties; edits go out from here. */
export default function Inspector() {
  const { selected, select } = useSelection();
  const mayFind = useMayFind();
  const finding = useSheet((state) => state.finding);
  return (
    <aside aria-label="Inspector" className="inspector">
      <div className="inspector-toolbar">
        {mayFind && (
          <TwinSearch
            label="Find a twin"
            model={undefined}
            value=""
            isBare
            isAwaited={finding}
            onChoose={(id) => select({ kind: "twin", id })}
          />
        )}
        <NewTwinButton className="button button-small" />
      </div>
      {selected === null ? <Nothing /> : <Shown selected={selected} />}
      <Unsaved except={selected} onOpen={select} />
    </aside>
  );
}

function Shown({ selected }: { selected: Selected }) {
  const { graphId } = useSession();
  switch (selected.kind) {
    case "twin":
      return <TwinInspector key={`${graphId}\n${selected.id}`} id={selected.id} />;
    case "relationship": {
      const { sourceId, id } = selected;
      return (
        <RelationshipInspector key={`${graphId}\n${sourceId}\n${id}`} sourceId={sourceId} id={id} />
      );
    }
    case "model":
      return <ModelCard id={selected.id} />;
  }
}

function Nothing() {
  return (
    <div className="inspector-empty muted">
      <MousePointerClick size={20} aria-hidden />
      <p>Select a twin, a relationship or a model to see it here.</p>
    </div>
  );
}
