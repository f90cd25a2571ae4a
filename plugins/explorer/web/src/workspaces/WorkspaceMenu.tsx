import { FolderKanban } from "lucide-react";
import { Suspense, useState } from "react";
import { Button, Menu, MenuItem, MenuTrigger, Popover, Separator } from "react-aria-components";

import { MAY } from "../api/workspaces";
import { useNotices } from "../app/notices";
import { latePart } from "../app/parts";
import { ROUTES_BASE, routeOf } from "../app/addresses";
import { showText } from "../app/showText";
import { useLeaveQuestion } from "../inspector/Unsaved";
import { useSession } from "../session/session";
import { addressWorkspace, renderWorkspaceId } from "./address";
import { saveOpened, type SaveConflict } from "./save";
import { closeWorkspace, useOpened } from "./store";
import { useUnsaved } from "./useUnsaved";
import { useWorkspaceLink } from "./useWorkspaceLink";
import { useWorkspaces } from "./useWorkspaces";
import "./workspaces.css";

// PERF: what opens by a press is got by then.
const Dialogs = latePart(() => import("./WorkspaceDialogs"));

/** What is open of the dialogs of workspaces. */
export type Shown =
  | { kind: "save as" | "rename" | "delete" | "list" }
  | { kind: "conflict"; conflict: SaveConflict }
  | { kind: "leave"; id: string };

/** The workspace that is open, and what one may do with workspaces. */
export function WorkspaceMenu() {
  const { may } = useSession();
  const { asked, answer } = useWorkspaceLink();
  const opened = useOpened((state) => state.opened);
  const unsaved = useUnsaved();
  const [shown, setShown] = useState<Shown | null>(null);
  const act = useActions(setShown);
  useLeaveQuestion(unsaved && may(MAY.write));
  if (!may(MAY.read)) return null;
  const name = opened === null ? "Workspace" : showText(opened.name);
  const dialog: Shown | null = asked === null ? shown : { kind: "leave", id: asked };
  return (
    <>
      <MenuTrigger>
        <Button
          className="button workspace-button"
          aria-label={
            opened === null
              ? "Workspaces"
              : `Workspace ${name}${unsaved ? ", with changes that are not saved" : ""}`
          }
        >
          <FolderKanban size={14} aria-hidden />
          <span className="query-wide workspace-name">{name}</span>
          {unsaved && <span className="workspace-unsaved" aria-hidden title="Not saved" />}
        </Button>
        <Popover placement="bottom end">
          <Menu aria-label="Workspaces" onAction={(key) => act(String(key))}>
            {opened !== null && may(MAY.write) && (
              <MenuItem id="save" isDisabled={!unsaved}>
                {unsaved ? "Save" : "Save (nothing has changed)"}
              </MenuItem>
            )}
            {may(MAY.write) && <MenuItem id="save as">Save as …</MenuItem>}
            {opened !== null && may(MAY.write) && <MenuItem id="rename">Rename …</MenuItem>}
            {opened !== null && <MenuItem id="link">Copy link</MenuItem>}
            {opened !== null && may(MAY.delete) && <MenuItem id="delete">Delete …</MenuItem>}
            {opened !== null && <MenuItem id="close">Close</MenuItem>}
            {(opened !== null || may(MAY.write)) && <Separator />}
            <MenuItem id="list">All workspaces …</MenuItem>
          </Menu>
        </Popover>
      </MenuTrigger>
      {dialog !== null && (
        <Suspense>
          <Dialogs
            shown={dialog}
            onShow={setShown}
            onClose={() => (asked === null ? setShown(null) : answer(false))}
            onLeave={() => answer(true)}
          />
        </Suspense>
      )}
    </>
  );
}

/** What the items of the menu do. */
function useActions(setShown: (shown: Shown | null) => void): (key: string) => void {
  const { graphId } = useSession();
  const { client, refresh } = useWorkspaces();
  const { say, sayError } = useNotices.getState();
  const save = async (): Promise<void> => {
    const conflict = await saveOpened(client, graphId);
    if (conflict !== null) setShown({ kind: "conflict", conflict });
    else {
      say(`«${useOpened.getState().opened?.name ?? ""}» is saved.`);
      await refresh();
    }
  };
  return (key) => {
    const id = useOpened.getState().opened?.id;
    if (key === "save") save().catch(sayError);
    else if (key === "link" && id !== undefined) copyLink(graphId, id).catch(sayError);
    else if (key === "close") {
      closeWorkspace();
      addressWorkspace(null);
    } else setShown({ kind: key } as Shown);
  };
}

/** Puts the address of a workspace where it can be pasted. */
export async function copyLink(graphId: string, id: string): Promise<void> {
  const { origin } = window.location;
  const search = renderWorkspaceId("", id).slice(1);
  await navigator.clipboard.writeText(origin + ROUTES_BASE + routeOf(graphId, "query", search));
  useNotices.getState().say("The link to this workspace is copied.");
}
