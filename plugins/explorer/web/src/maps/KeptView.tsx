import { useState, type ComponentType } from "react";
import { Button } from "react-aria-components";

import { MAY, type Kind, type Workspace, type Workspaces } from "../api/workspaces";
import { Waiting } from "../app/Waiting";
import { useSession } from "../session/session";
import { useKept, type Kept } from "./useKept";

export interface NewProps {
  workspaces: Workspaces;
  onMade(made: Workspace): void;
  onClose(): void;
}

interface Props {
  kind: Kind;
  /** What the address calls them. */
  show: string;
  /** What one of them is called, such as `floor plan`. */
  thing: string;
  /** What one is, for who has none yet. */
  about: string;
  One: ComponentType<{ kept: Kept; onNew(): void }>;
  New: ComponentType<NewProps>;
}

/** Workspaces of a kind, one at a time, or how the first is made. */
export function KeptView({ kind, show, thing, about, One, New }: Props) {
  const { may } = useSession();
  const kept = useKept(kind, show);
  const [making, setMaking] = useState(false);
  if (!may(MAY.read)) {
    return <p className="maps-none muted">You may not read the workspaces of this graph.</p>;
  }
  const onNew = (): void => setMaking(true);
  return (
    <>
      {kept.isLoading ? (
        <Waiting label={`Loading the ${thing}s`} />
      ) : kept.currentId === null ? (
        <div className="maps-empty">
          <h2>There is no {thing} yet</h2>
          <p>{about} It is kept in the graph, for everybody who may read its workspaces.</p>
          {kept.mayWrite ? (
            <Button className="button button-primary" onPress={onNew}>
              New {thing}
            </Button>
          ) : (
            <p className="muted">You may not make one: you need the permission {MAY.write}.</p>
          )}
        </div>
      ) : (
        <One key={kept.currentId} kept={kept} onNew={onNew} />
      )}
      {making && (
        <New
          workspaces={kept.workspaces}
          onMade={(made) => {
            kept.refresh(made);
            kept.choose(made.id);
          }}
          onClose={() => setMaking(false)}
        />
      )}
    </>
  );
}
