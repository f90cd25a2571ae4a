import { useState, type ReactNode, type SyntheticEvent } from "react";
import { Button, Dialog, Form, Heading, Modal, ModalOverlay } from "react-aria-components";

import { titleOf } from "../api/errors";
import { Failure } from "../app/Failure";
import { showText } from "../app/showText";
import { useRefocus } from "../app/useRefocus";
import "./inspector.css";
import { useLeaveQuestion } from "./Unsaved";

interface Props {
  title: string;
  /** The button that does it. */
  submit: string;
  danger?: boolean;
  /** Whether there is something in it that no click beside it and no Escape may throw away. */
  isWritten?: boolean;
  isReady: boolean;
  /** Does it; the dialog closes when that has worked. */
  onSubmit(): Promise<unknown>;
  /** Hears of the error too, to mark fields. */
  onError?(error: unknown): void;
  onClose(): void;
  children: ReactNode;
}

/** A dialog with a form, there as long as it is mounted; it stays until the service has taken it. */
export function FormFrame(props: Props) {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const { isWritten = false } = props;
  const cancel = useRefocus<HTMLButtonElement>(busy);
  useLeaveQuestion(isWritten);
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    // NOTE: forms in dialogs are children of the editor's React tree; its keys are not meant.
    event.stopPropagation();
    if (!props.isReady || busy) return;
    setBusy(true);
    setError(null);
    props
      .onSubmit()
      .then(props.onClose, (refused: unknown) => {
        setError(refused);
        props.onError?.(refused);
      })
      .finally(() => setBusy(false));
  };
  return (
    <ModalOverlay
      isOpen
      isDismissable={!busy && !isWritten}
      isKeyboardDismissDisabled={busy || isWritten}
      onOpenChange={(open) => !open && props.onClose()}
    >
      <Modal>
        <Dialog>
          <Heading slot="title">{showText(props.title)}</Heading>
          <Form className="inspector-form" onSubmit={submit}>
            {/* What was refused is not what is written since. */}
            <div className="inspector-form-content" onInput={() => setError(null)}>
              {props.children}
            </div>
            {error !== null && <Failure title={titleOf(error)} error={error} />}
            <div className="modal-actions">
              <Button
                ref={cancel}
                className="button button-quiet"
                isDisabled={busy}
                onPress={props.onClose}
              >
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
    </ModalOverlay>
  );
}
