import { useState, type ReactNode } from "react";
import { Button, Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from "react-aria-components";

import { titleOf } from "../api/errors";
import { Failure } from "../app/Failure";
import { showText } from "../app/showText";

interface Props {
  trigger: ReactNode;
  title: string;
  text: string;
  submit: string;
  onSubmit(): Promise<unknown>;
}

/** Asks before something is done that cannot be undone; stays open where it failed. */
export function Confirm({ trigger, title, text, submit, onSubmit }: Props) {
  const [isOpen, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = (): void => {
    setBusy(true);
    setError(null);
    onSubmit()
      .then(() => setOpen(false), setError)
      .finally(() => setBusy(false));
  };
  return (
    <DialogTrigger
      isOpen={isOpen}
      onOpenChange={(open) => {
        setOpen(open);
        setError(null);
      }}
    >
      {trigger}
      <ModalOverlay className="modal-overlay" isDismissable={!busy}>
        <Modal className="modal">
          <Dialog role="alertdialog" className="modal-dialog">
            <Heading slot="title">{showText(title)}</Heading>
            <p>{text}</p>
            {error !== null && <Failure title={titleOf(error)} error={error} />}
            <div className="modal-actions">
              <Button slot="close" className="button button-quiet" isDisabled={busy}>
                Cancel
              </Button>
              <Button className="button button-danger" isPending={busy} onPress={run}>
                {submit}
              </Button>
            </div>
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}
