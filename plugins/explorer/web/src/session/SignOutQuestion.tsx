import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";

import { leaveAnyway, useLeaving } from "./leaving";

/** Asks whoever signs out while something is not saved. */
export function SignOutQuestion() {
  const asks = useLeaving((state) => state.asks);
  const stay = (): void => useLeaving.setState({ asks: false });
  return (
    <ModalOverlay
      className="modal-overlay"
      isOpen={asks}
      onOpenChange={(open) => {
        if (!open) stay();
      }}
    >
      <Modal className="modal">
        <Dialog className="modal-dialog" role="alertdialog">
          <Heading slot="title">Sign out and lose what is not saved?</Heading>
          <p>There are changes on this page that the service does not have yet.</p>
          <div className="modal-actions">
            <Button className="button button-quiet" onPress={stay}>
              Stay
            </Button>
            <Button className="button button-danger" onPress={leaveAnyway}>
              Sign out and lose them
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
