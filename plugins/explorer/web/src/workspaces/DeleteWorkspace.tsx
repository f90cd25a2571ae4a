import type { WorkspaceHead } from "../api/workspaces";
import { useNotices } from "../app/notices";
import { FormFrame } from "../inspector/FormFrame";
import { addressWorkspace } from "./address";
import { closeWorkspace, useOpened } from "./store";
import { useWorkspaces } from "./useWorkspaces";

/** Deletes a workspace for everyone, if it is still what was shown. */
export function DeleteWorkspace({ head, onClose }: { head: WorkspaceHead; onClose(): void }) {
  const { client, refresh } = useWorkspaces();
  const remove = async (): Promise<void> => {
    await client.delete(head.id, head.etag);
    useNotices.getState().say(`«${head.name}» is deleted.`);
    if (useOpened.getState().opened?.id === head.id) {
      closeWorkspace();
      addressWorkspace(null);
    }
    await refresh();
  };
  return (
    <FormFrame
      title={`Delete ${head.name}?`}
      submit="Delete"
      danger
      isReady
      onSubmit={remove}
      // What was shown is not what there is any more.
      onError={() => void refresh()}
      onClose={onClose}
    >
      <p>
        The workspace goes for everyone, and links to it lead nowhere. The twins of its picture
        stay. This cannot be taken back.
      </p>
    </FormFrame>
  );
}
