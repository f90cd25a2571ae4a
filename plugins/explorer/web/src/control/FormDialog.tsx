import { useState, type ReactNode, type SyntheticEvent } from "react";
import { Button, Dialog, DialogTrigger, Form, Heading, Modal } from "react-aria-components";

import { titleOf } from "../api/errors";
import { Failure } from "../app/Failure";
import { useRefocus } from "../app/useRefocus";

interface Props {
  /** The button that opens it. */
  trigger: ReactNode;
  title: string;
  /** The button that does it. */
  submit: string;
  danger?: boolean;
  /** Whether what is filled in can be sent. */
  isReady: boolean;
  /** Does it; the dialog closes when that has worked, and shows the error where not. */
  onSubmit(): Promise<unknown>;
  /** Hears that it was opened, to begin with empty fields. */
  onOpen?(): void;
  children: ReactNode;
}

/** A form in a dialog: it stays until the service has taken it. */
export function FormDialog(props: Props) {
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const cancel = useRefocus<HTMLButtonElement>(busy);
  const change = (open: boolean): void => {
    setOpen(open);
    setError(null);
    if (open) props.onOpen?.();
  };
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    if (!props.isReady || busy) return;
    setBusy(true);
    setError(null);
    props
      .onSubmit()
      .then(() => setOpen(false), setError)
      .finally(() => setBusy(false));
  };
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={change}>
      {props.trigger}
      {/* A click beside it loses nothing of what was written; Escape and Cancel close it. */}
      <Modal className="modal" isDismissable={false} isKeyboardDismissDisabled={busy}>
        <Dialog className="modal-dialog control-dialog">
          <Heading slot="title">{props.title}</Heading>
          <Form className="control-form" onSubmit={submit}>
            {props.children}
            {error !== null && <Failure title={titleOf(error)} error={error} />}
            <div className="modal-actions">
              <Button ref={cancel} slot="close" className="button button-quiet" isDisabled={busy}>
                Cancel
              </Button>
              <Button
                type="submit"
                className={`button ${props.danger ? "button-danger" : "button-primary"}`}
                isPending={busy}
                isDisabled={!props.isReady}
              >
                {props.submit}
              </Button>
            </div>
          </Form>
        </Dialog>
      </Modal>
    </DialogTrigger>
  );
}
