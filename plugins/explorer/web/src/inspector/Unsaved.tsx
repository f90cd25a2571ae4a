import { useEffect } from "react";
import { Button } from "react-aria-components";

import { renderJson } from "../api/json";
import type { Selected } from "../app/selection";
import { useSession } from "../session/session";
import { showText } from "../app/showText";
import { useDrafts } from "./drafts";
import "./unsaved.css";

/** Has whoever leaves the page asked while something would be lost. */
export function useLeaveQuestion(unsaved: boolean): void {
  useEffect(() => {
    if (!unsaved) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [unsaved]);
}

/** Has whoever leaves the page asked while something is not saved. It shows nothing. */
export function DraftGuard() {
  useLeaveQuestion(useDrafts((state) => state.drafts.size > 0));
  return null;
}

interface Props {
  /** What is on the screen already. */
  except: Selected | null;
  onOpen(one: Selected): void;
}

/** Ways back to what was edited in this graph and is not saved. */
export function Unsaved({ except, onOpen }: Props) {
  const { graphId } = useSession();
  const drafts = useDrafts((state) => state.drafts);
  const others = [...drafts.keys()]
    .map((key) => key.split("\n"))
    .filter(([graph]) => graph === graphId)
    .map(([, one = "", other]): Selected =>
      other === undefined
        ? { kind: "twin", id: one }
        : { kind: "relationship", sourceId: one, id: other },
    )
    .filter((one) => renderJson(one) !== renderJson(except));
  if (others.length === 0) return null;
  return (
    <div className="unsaved" role="region" aria-label="Not saved yet">
      <span className="muted">Not saved yet:</span>
      {others.map((one) => (
        <Button
          key={renderJson(one)}
          className="button button-quiet button-small unsaved-one"
          onPress={() => onOpen(one)}
        >
          {showText(one.id)}
        </Button>
      ))}
    </div>
  );
}
