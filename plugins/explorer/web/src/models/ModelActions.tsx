import { useQueryClient } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import { useState } from "react";
import {
  Button,
  Dialog,
  Heading,
  Input,
  Label,
  Menu,
  MenuItem,
  MenuTrigger,
  Modal,
  ModalOverlay,
  Popover,
  TextField,
} from "react-aria-components";

import { titleOf } from "../api/errors";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { useRefocus } from "../app/useRefocus";
import { useSession } from "../session/session";
import type { InterfaceInfo, ModelIndex } from "./index";
import { tellReferrers } from "./referrers";

interface ConfirmProps {
  title: string;
  text: string;
  verb: string;
  /** What has to be typed first; nothing where it is undefined. */
  typed?: string;
  /** Why it would be refused, as far as one can know; it cannot be done then. */
  hurdle?: string;
  act: () => Promise<void>;
  onClose: () => void;
}

/** Asks before something that cannot be undone, and shows why it was refused. */
export function Confirm({ title, text, verb, typed, hurdle, act, onClose }: ConfirmProps) {
  const [given, setGiven] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const cancel = useRefocus<HTMLButtonElement>(busy);
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      await act();
      onClose();
    } catch (refused) {
      setError(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <ModalOverlay isOpen isDismissable={!busy} onOpenChange={(open) => !open && onClose()}>
      <Modal>
        <Dialog role="alertdialog">
          <Heading slot="title">{title}</Heading>
          <p>{hurdle ?? text}</p>
          {typed !== undefined && hurdle === undefined && (
            <TextField value={given} onChange={setGiven}>
              <Label>Type {typed} to go on</Label>
              <Input />
            </TextField>
          )}
          {error !== null && <Failure title={titleOf(error)} error={error} />}
          <div className="modal-actions">
            <Button ref={cancel} className="button" onPress={onClose} isDisabled={busy}>
              Cancel
            </Button>
            <Button
              className="button button-danger"
              onPress={() => void run()}
              isPending={busy}
              isDisabled={hurdle !== undefined || (typed !== undefined && given !== typed)}
            >
              {verb}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

interface ActionsProps {
  model: InterfaceInfo;
  index: ModelIndex;
  /** How many twins are of this very model; null while unknown. */
  twins: number | null;
}

/** Decommissioning and deleting one model, as far as one may. */
export function ModelActions({ model, index, twins }: ActionsProps) {
  const { graph, graphId, may } = useSession();
  const { say } = useNotices();
  const client = useQueryClient();
  const [asked, setAsked] = useState<"decommission" | "delete" | null>(null);
  const hurdle = tellReferrers(index.referrers(model.id).map((id) => index.label(id)));
  const finish = async (told: string) => {
    await client.invalidateQueries({ queryKey: ["models", graphId] });
    say(told);
  };
  return (
    <>
      {may("models/write") && !model.decommissioned && (
        <Button className="button" onPress={() => setAsked("decommission")}>
          Decommission
        </Button>
      )}
      {may("models/delete") && (
        <Button className="button button-danger" onPress={() => setAsked("delete")}>
          Delete
        </Button>
      )}
      {asked === "decommission" && (
        <Confirm
          title={`Decommission ${model.displayName}?`}
          text="No twin of it can be created any more; those there are stay. It cannot be undone."
          verb="Decommission"
          onClose={() => setAsked(null)}
          act={async () => {
            await graph.decommissionModel(model.id);
            await finish(`${model.displayName} is decommissioned.`);
          }}
        />
      )}
      {asked === "delete" && (
        <Confirm
          title={`Delete ${model.displayName}?`}
          text={`${tellTwins(twins)} stay, but cannot be changed until the model is there again.`}
          verb="Delete"
          {...(twins ? { typed: model.displayName } : {})}
          {...(hurdle === null ? {} : { hurdle })}
          onClose={() => setAsked(null)}
          act={async () => {
            await graph.deleteModel(model.id);
            await finish(`${model.displayName} is deleted.`);
          }}
        />
      )}
    </>
  );
}

function tellTwins(twins: number | null): string {
  if (!twins) return "Twins of it";
  return twins === 1 ? "The one twin of it will" : `The ${twins.toLocaleString()} twins of it`;
}

/** Deletes every model, once its number was typed. */
export function DeleteAll({ count }: { count: number }) {
  const { graph, graphId, may } = useSession();
  const { say } = useNotices();
  const client = useQueryClient();
  const [asked, setAsked] = useState(false);
  if (!may("models/delete") || count === 0) return null;
  return (
    <>
      <MenuTrigger>
        <Button
          className="button button-quiet button-icon button-small"
          aria-label="More for all models"
        >
          <Ellipsis size={16} aria-hidden />
        </Button>
        <Popover placement="top end">
          <Menu aria-label="For all models" onAction={() => setAsked(true)}>
            <MenuItem>Delete all models…</MenuItem>
          </Menu>
        </Popover>
      </MenuTrigger>
      {asked && (
        <Confirm
          title={`Delete all ${count} models?`}
          text="Twins stay, but cannot be changed until their models are there again."
          verb="Delete all"
          typed={String(count)}
          onClose={() => setAsked(false)}
          act={async () => {
            await graph.http.send("/models", { method: "DELETE" });
            await client.invalidateQueries({ queryKey: ["models", graphId] });
            say("All models are deleted.");
          }}
        />
      )}
    </>
  );
}
