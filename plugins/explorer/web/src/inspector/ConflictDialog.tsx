import { useState } from "react";
import {
  Button,
  Dialog,
  Heading,
  Label,
  Modal,
  ModalOverlay,
  Radio,
  RadioGroup,
} from "react-aria-components";

import { renderJson } from "../api/json";
import type { Json } from "../api/types";
import { showText } from "../app/showText";
import { readAt } from "./document";
import type { Draft } from "./drafts";

interface Props {
  /** What is edited. */
  label: string;
  draft: Draft;
  onSettle(theirs: ReadonlySet<string>): void;
  onClose(): void;
}

/** Both versions of what two changed, to choose of. */
export function ConflictDialog({ label, draft, onSettle, onClose }: Props) {
  const [theirs, setTheirs] = useState<ReadonlySet<string>>(new Set());
  const choose = (path: string, choice: string): void => {
    const after = new Set(theirs);
    if (choice === "theirs") after.add(path);
    else after.delete(path);
    setTheirs(after);
  };
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={(open) => !open && onClose()}>
      <Modal className="react-aria-Modal modal-wide">
        <Dialog role="alertdialog">
          <Heading slot="title">Somebody else changed {showText(label)} meanwhile</Heading>
          <p>
            Nothing was saved. Choose what shall stand; your other changes are saved with it, and
            what they changed elsewhere stays.
          </p>
          <div className="inspector-conflicts">
            {draft.conflicts.map((one) => (
              <RadioGroup
                key={one.path}
                className="inspector-conflict"
                value={theirs.has(one.path) ? "theirs" : "mine"}
                onChange={(choice) => choose(one.path, choice)}
              >
                <Label>
                  <code>{one.path}</code>
                  <span className="muted"> was {describe(one.base)}</span>
                </Label>
                <Version name="Mine" id="mine" value={readAt(draft.draft, one.path)} />
                <Version name="Theirs" id="theirs" value={one.theirs} />
              </RadioGroup>
            ))}
          </div>
          <div className="modal-actions">
            <Button className="button" onPress={onClose}>
              Back to editing
            </Button>
            <Button className="button button-primary" onPress={() => onSettle(theirs)}>
              Save what is chosen
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function Version({ id, name, value }: { id: string; name: string; value: Json | undefined }) {
  return (
    <Radio value={id} className="react-aria-Radio inspector-version">
      <span className="inspector-radio" aria-hidden />
      <span>
        <span className="inspector-version-name">{name}</span>
        <pre>{describe(value, 2)}</pre>
      </span>
    </Radio>
  );
}

function describe(value: Json | undefined, indent?: number): string {
  return value === undefined ? "not set" : renderJson(value, indent);
}
