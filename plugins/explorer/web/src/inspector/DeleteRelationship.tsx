import { useQueryClient } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { Button } from "react-aria-components";

import type { Relationship } from "../api/types";
import { useNotices } from "../app/notices";
import { useSelection } from "../app/selection";
import { showText } from "../app/showText";
import { Confirm } from "../models/ModelActions";
import { useSession } from "../session/session";
import { editable } from "./document";
import { draftKey, useDrafts } from "./drafts";
import { recordMade } from "./made";

/** The button that deletes a relationship as it was read, once that is confirmed. */
export function DeleteRelationship({ relationship }: { relationship: Relationship }) {
  const [asking, setAsking] = useState(false);
  return (
    <div className="inspector-header-actions">
      <Button className="button button-small button-danger" onPress={() => setAsking(true)}>
        <Trash2 size={13} aria-hidden /> Delete
      </Button>
      {asking && <ConfirmDeletion relationship={relationship} onClose={() => setAsking(false)} />}
    </div>
  );
}

interface ConfirmProps {
  relationship: Relationship;
  onClose(): void;
}

/** Asks whether a relationship is to be deleted as it was read, and deletes it. */
export function ConfirmDeletion({ relationship, onClose }: ConfirmProps) {
  const { graph, graphId } = useSession();
  const client = useQueryClient();
  const { say } = useNotices();
  const select = useSelection((state) => state.select);
  const { $relationshipId: id, $sourceId: sourceId, $targetId: targetId } = relationship;
  const remove = async (): Promise<void> => {
    const queryKey = ["relationship", graphId, sourceId, id];
    try {
      await graph.deleteRelationship(sourceId, id, relationship.$etag);
    } catch (refused) {
      // So that one sees what it is now, before trying again.
      void client.invalidateQueries({ queryKey });
      throw refused;
    }
    useDrafts.getState().drop(draftKey(graphId, sourceId, id));
    select({ kind: "twin", id: sourceId });
    client.removeQueries({ queryKey });
    void client.invalidateQueries({ queryKey: ["relationships", graphId, sourceId] });
    void client.invalidateQueries({ queryKey: ["incoming", graphId, targetId] });
    const { $relationshipName } = relationship;
    const document = { ...editable(relationship), $relationshipName, $targetId: targetId };
    const undo = recordMade({
      graphId,
      text: `${$relationshipName} from ${sourceId} to ${targetId} deleted`,
      of: { kind: "twin", id: sourceId },
      undo: async () => void (await graph.createRelationship(sourceId, id, document)),
    });
    say(`${id} is deleted.`, undo);
  };
  return (
    <Confirm
      title={showText(`Delete ${id}?`)}
      text={showText(
        `${sourceId} and ${targetId} stay. The list of changes can undo it while this page is open.`,
      )}
      verb="Delete"
      act={remove}
      onClose={onClose}
    />
  );
}
