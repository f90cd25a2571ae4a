import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { Button } from "react-aria-components";

import type { Workspace } from "../api/workspaces";
import { useNotices } from "../app/notices";
import { showText } from "../app/showText";
import { FormFrame } from "../inspector/FormFrame";
import { Choice } from "../picture/StyleOf";
import type { Kept } from "./useKept";

interface Props {
  kept: Kept;
  /** What one of them is called, such as «floor plan». */
  thing: string;
  onNew(): void;
  /** Takes away what else was kept for one that is deleted. */
  onDeleted?(): Promise<void>;
}

/** Which of what is kept is shown, a new one, and the end of this one. */
export function KeptTools({ kept, thing, onNew, onDeleted }: Props) {
  const [deleting, setDeleting] = useState<Workspace | null>(null);
  const { heads, current, currentId } = kept;
  const label = `${thing[0]?.toUpperCase() ?? ""}${thing.slice(1)}`;
  return (
    <>
      {heads.length > 0 && (
        <Choice
          label={label}
          value={currentId ?? ""}
          options={heads.map((one) => [one.id, showText(one.name)] as const)}
          onChange={kept.choose}
        />
      )}
      {kept.mayWrite && (
        <Button className="button button-small" onPress={onNew}>
          <Plus size={14} aria-hidden /> New {thing}
        </Button>
      )}
      {kept.mayDelete && current !== undefined && (
        <Button
          className="button button-small button-quiet button-icon"
          aria-label={`Delete the ${thing}`}
          onPress={() => setDeleting(current)}
        >
          <Trash2 size={14} aria-hidden />
        </Button>
      )}
      {deleting !== null && (
        <FormFrame
          title={`Delete the ${thing} ${deleting.name}?`}
          submit="Delete"
          danger
          isReady
          onSubmit={async () => {
            try {
              await kept.workspaces.delete(deleting.id, current?.etag ?? deleting.etag);
            } catch (refused) {
              // Where somebody else has changed it, one sees what it is now before trying again.
              kept.refresh();
              throw refused;
            }
            await onDeleted?.();
            kept.choose("");
            kept.refresh(null);
            useNotices.getState().say(`The ${thing} ${deleting.name} is deleted.`);
          }}
          onClose={() => setDeleting(null)}
        >
          <p>It goes for everybody. The twins on it stay. This cannot be taken back.</p>
        </FormFrame>
      )}
    </>
  );
}
