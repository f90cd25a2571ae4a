import { Link2, Trash2 } from "lucide-react";
import { useState } from "react";
import {
  Button,
  Dialog,
  GridList,
  GridListItem,
  Heading,
  Input,
  Modal,
  ModalOverlay,
  SearchField,
} from "react-aria-components";

import { MAY, type WorkspaceHead } from "../api/workspaces";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { writeMoment } from "../inspector/Moment";
import { useSession } from "../session/session";
import { addressWorkspace } from "./address";
import { DeleteWorkspace } from "./DeleteWorkspace";
import { useOpened } from "./store";
import { useWorkspaceList } from "./useWorkspaces";
import { copyLink } from "./WorkspaceMenu";

/** The pictures that are kept in the graph, the newest first; one that is chosen opens. */
export function WorkspaceList({ onClose }: { onClose(): void }) {
  const { graphId, may } = useSession();
  const { data, error, refetch } = useWorkspaceList();
  const [sought, setSought] = useState("");
  const [deleting, setDeleting] = useState<WorkspaceHead | null>(null);
  const opened = useOpened((state) => state.opened?.id);
  const needle = sought.trim().toLowerCase();
  const all = (data ?? []).filter((one) => one.kind === "picture");
  const found = all
    .filter((one) => one.name.toLowerCase().includes(needle))
    .sort((one, other) => other.lastUpdateTime.localeCompare(one.lastUpdateTime));
  const open = (key: string | number): void => {
    if (key !== opened) addressWorkspace(String(key), true);
    onClose();
  };
  if (deleting !== null)
    return <DeleteWorkspace head={deleting} onClose={() => setDeleting(null)} />;
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Modal className="react-aria-Modal">
        <Dialog>
          <Heading slot="title">Workspaces</Heading>
          {error !== null && (
            <Failure
              title="The workspaces cannot be read"
              error={error}
              onRetry={() => void refetch()}
            />
          )}
          {data === undefined && error === null && <Waiting label="Reading the workspaces" />}
          {all.length > 0 && (
            <SearchField aria-label="Find a workspace" value={sought} onChange={setSought}>
              <Input placeholder="Find a workspace" />
            </SearchField>
          )}
          {data !== undefined && (
            <GridList
              aria-label="Workspaces"
              className="query-items"
              items={found}
              onAction={open}
              renderEmptyState={() => (
                <p className="muted query-none">
                  {all.length > 0
                    ? "No workspace has these words."
                    : may(MAY.write)
                      ? "There is no workspace yet. “Save as …” keeps what is in view."
                      : "There is no workspace yet."}
                </p>
              )}
            >
              {(one) => (
                <GridListItem id={one.id} textValue={one.name} className="query-item">
                  <span className="query-item-text">
                    <span className="query-item-title">
                      {showText(one.name)}
                      {one.id === opened && <span className="muted"> (open)</span>}
                    </span>
                    <span className="query-item-detail muted">{tellSaved(one)}</span>
                  </span>
                  <Button
                    className="button button-quiet button-small button-icon"
                    aria-label={`Copy link: ${one.name}`}
                    onPress={() => {
                      copyLink(graphId, one.id).catch(useNotices.getState().sayError);
                    }}
                  >
                    <Link2 size={14} aria-hidden />
                  </Button>
                  {may(MAY.delete) && (
                    <Button
                      className="button button-quiet button-small button-icon"
                      aria-label={`Delete: ${one.name}`}
                      onPress={() => setDeleting(one)}
                    >
                      <Trash2 size={14} aria-hidden />
                    </Button>
                  )}
                </GridListItem>
              )}
            </GridList>
          )}
          <div className="modal-actions">
            <Button className="button" slot="close">
              Close
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** Who saved it last, and when. */
function tellSaved({ lastUpdateTime, lastUpdateBy, createdBy }: WorkspaceHead): string {
  const when = writeMoment(new Date(lastUpdateTime), new Date());
  if (lastUpdateBy === null) return `saved ${when}`;
  const made = createdBy === null || createdBy === lastUpdateBy ? "" : `, made by ${createdBy}`;
  return showText(`saved ${when} by ${lastUpdateBy}${made}`);
}
