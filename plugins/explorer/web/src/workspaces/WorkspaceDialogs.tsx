import { useState } from "react";
import {
  Button,
  Dialog,
  Heading,
  Input,
  Label,
  Modal,
  ModalOverlay,
  TextField,
} from "react-aria-components";

import { titleOf } from "../api/errors";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { showText } from "../app/showText";
import { FormFrame } from "../inspector/FormFrame";
import { useSession } from "../session/session";
import { addressWorkspace } from "./address";
import { capturePicture } from "./capture";
import { renderPicture } from "./content";
import { DeleteWorkspace } from "./DeleteWorkspace";
import { replaceTheirs, type SaveConflict } from "./save";
import { closeWorkspace, keepRenamed, keepSaved, openWorkspace, useOpened } from "./store";
import { useWorkspaces } from "./useWorkspaces";
import { WorkspaceList } from "./WorkspaceList";
import type { Shown } from "./WorkspaceMenu";

interface Props {
  shown: Shown;
  onShow(shown: Shown): void;
  onClose(): void;
  /** Opens the workspace that waits, and lets go what is not saved. */
  onLeave(): void;
}

/** The dialog of workspaces that is open. */
export default function WorkspaceDialogs({ shown, onShow, onClose, onLeave }: Props) {
  switch (shown.kind) {
    case "save as":
      return <SaveAs onClose={onClose} />;
    case "rename":
      return <Rename onClose={onClose} />;
    case "delete":
      return <DeleteOpened onClose={onClose} />;
    case "list":
      return <WorkspaceList onClose={onClose} />;
    case "conflict":
      return (
        <Conflict
          conflict={shown.conflict}
          onConflict={(conflict) => onShow({ kind: "conflict", conflict })}
          onSaveAs={() => onShow({ kind: "save as" })}
          onClose={onClose}
        />
      );
    case "leave":
      return <Leave onClose={onClose} onLeave={onLeave} />;
  }
}

function NameField({ value, onChange }: { value: string; onChange(value: string): void }) {
  return (
    // eslint-disable-next-line jsx-a11y/no-autofocus -- a dialog begins at its first field
    <TextField value={value} onChange={onChange} isRequired autoFocus maxLength={200}>
      <Label>Name</Label>
      <Input />
    </TextField>
  );
}

function SaveAs({ onClose }: { onClose(): void }) {
  const { graphId } = useSession();
  const { client, refresh } = useWorkspaces();
  const [name, setName] = useState("");
  const save = async (): Promise<void> => {
    const picture = capturePicture();
    const saved = await client.create(name.trim(), renderPicture(picture));
    keepSaved(saved, picture, graphId);
    addressWorkspace(saved.id);
    useNotices.getState().say(`«${saved.name}» is saved in the graph.`);
    await refresh();
  };
  return (
    <FormFrame
      title="Save as a workspace"
      submit="Save"
      isReady={name.trim() !== ""}
      onSubmit={save}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <p className="muted">
        It keeps the picture with its pins, the style, the filters, the query with its parameters
        and the view. All who may read workspaces of this graph can open it.
      </p>
    </FormFrame>
  );
}

function Rename({ onClose }: { onClose(): void }) {
  const { client, refresh } = useWorkspaces();
  const opened = useOpened((state) => state.opened);
  const [name, setName] = useState(opened?.name ?? "");
  const rename = async (): Promise<void> => {
    if (opened === null) return;
    // Only the name: what is not saved stays so.
    const { id, content, etag } = opened;
    keepRenamed(await client.replace(id, name.trim(), content, etag));
    await refresh();
  };
  return (
    <FormFrame
      title="Rename the workspace"
      submit="Rename"
      isReady={name.trim() !== "" && name.trim() !== opened?.name}
      onSubmit={rename}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <p className="muted">Links to it stay as they are.</p>
    </FormFrame>
  );
}

function DeleteOpened({ onClose }: { onClose(): void }) {
  // As it was when it was asked for: it is no longer open once it is gone.
  const [head] = useState(useOpened.getState().opened);
  return head === null ? null : <DeleteWorkspace head={head} onClose={onClose} />;
}

interface ConflictProps {
  conflict: SaveConflict;
  onConflict(conflict: SaveConflict): void;
  onSaveAs(): void;
  onClose(): void;
}

/** Somebody else has saved it meanwhile: what shall become of either. */
function Conflict({ conflict, onConflict, onSaveAs, onClose }: ConflictProps) {
  const { graph, graphId } = useSession();
  const { client, refresh } = useWorkspaces();
  const [error, setError] = useState<unknown>(null);
  const { before, theirs } = conflict;
  const name = showText(before.name);
  const settle = (how: () => Promise<SaveConflict | null>): void => {
    setError(null);
    how().then((next) => {
      void refresh();
      if (next === null) onClose();
      else onConflict(next);
    }, setError);
  };
  const take = async (): Promise<null> => {
    if (theirs === null) {
      closeWorkspace();
      addressWorkspace(null);
    } else await openWorkspace(graph, graphId, theirs);
    return null;
  };
  const at = theirs === null ? "" : new Date(theirs.lastUpdateTime).toLocaleString();
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={(open) => !open && onClose()}>
      <Modal className="react-aria-Modal">
        <Dialog role="alertdialog">
          <Heading slot="title">
            {theirs === null
              ? `${name} was deleted meanwhile`
              : `Somebody else changed ${name} meanwhile`}
          </Heading>
          <p>
            Nothing was saved.{" "}
            {theirs !== null &&
              `${theirs.lastUpdateBy === null ? "It was saved" : `${showText(theirs.lastUpdateBy)} saved it`} at ${at}${
                theirs.name === before.name ? "" : ` as «${showText(theirs.name)}»`
              }.`}
          </p>
          {error !== null && <Failure title={titleOf(error)} error={error} />}
          <div className="workspace-choices">
            <Button className="button button-primary" onPress={onSaveAs}>
              Save mine under another name …
            </Button>
            <Button className="button" onPress={() => settle(take)}>
              {theirs === null ? "Close it, keep what is in view" : "Open theirs, let mine go"}
            </Button>
            <Button
              className="button button-danger"
              onPress={() => settle(() => replaceTheirs(client, graphId, conflict))}
            >
              {theirs === null ? "Save it again" : "Replace theirs with mine"}
            </Button>
            <Button className="button button-quiet" onPress={onClose}>
              Back
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** Another workspace is to be opened while this one has changes that are not saved. */
function Leave({ onClose, onLeave }: Pick<Props, "onClose" | "onLeave">) {
  const opened = useOpened((state) => state.opened);
  return (
    <FormFrame
      title={`Leave ${opened?.name ?? ""}?`}
      submit="Open the other one"
      danger
      isReady
      onSubmit={() => {
        onLeave();
        return Promise.resolve();
      }}
      onClose={onClose}
    >
      <p>It has changes that are not saved. They are lost when another workspace is opened.</p>
    </FormFrame>
  );
}
