import { MousePointerClick } from "lucide-react";
import { useEffect } from "react";
import { Button } from "react-aria-components";

import { renderJson } from "../api/json";
import { useSelection, type Selected } from "../app/selection";
import { useSession } from "../session/session";
import { useDrafts } from "./drafts";
import "./inspector.css";
import { ModelCard } from "./ModelCard";
import { NewTwinButton } from "./NewTwinButton";
import { RelationshipInspector } from "./RelationshipInspector";
import { TwinInspector } from "./TwinInspector";

export { NewTwin } from "./NewTwin";

/** What is selected, with its properties; edits go out from here. */
export default function Inspector() {
  const selected = useSelection((state) => state.selected);
  return (
    <aside aria-label="Inspector" className="inspector">
      <div className="inspector-toolbar">
        <NewTwinButton className="button button-small" />
      </div>
      {selected === null ? <Nothing /> : <Shown selected={selected} />}
      <Unsaved selected={selected} />
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

/** Ways back to what was edited and is not saved; whoever leaves the page is asked. */
function Unsaved({ selected }: { selected: Selected | null }) {
  const { graphId } = useSession();
  const { select } = useSelection();
  const drafts = useDrafts((state) => state.drafts);
  const unsaved = drafts.size > 0;
  useEffect(() => {
    if (!unsaved) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [unsaved]);
  const others = [...drafts.keys()]
    .map((key) => key.split("\n"))
    .filter(([graph]) => graph === graphId)
    .map(([, one = "", other]): Selected =>
      other === undefined
        ? { kind: "twin", id: one }
        : { kind: "relationship", sourceId: one, id: other },
    )
    .filter((one) => renderJson(one) !== renderJson(selected));
  if (others.length === 0) return null;
  return (
    <div className="inspector-unsaved">
      <span className="muted">Not saved yet:</span>
      {others.map((one) => (
        <Button key={renderJson(one)} className="inspector-link" onPress={() => select(one)}>
          {one.id}
        </Button>
      ))}
    </div>
  );
}
