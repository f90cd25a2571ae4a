import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";

import { showText } from "../../app/showText";
import type { Drafting } from "./useDraft";

/** Somebody else saved the plan meanwhile: nothing of theirs goes unseen. */
export function PlanConflict({ draft }: { draft: Drafting }) {
  const { conflict } = draft;
  if (conflict === null) return null;
  const { both, theirs } = conflict;
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={(open) => !open && draft.keepDrawing()}>
      <Modal className="react-aria-Modal">
        <Dialog role="alertdialog">
          <Heading slot="title">Somebody else changed {showText(theirs.name)} meanwhile</Heading>
          <p>
            Nothing was saved. What you have drawn can be saved on top of what they have: theirs
            stays wherever you changed nothing.
          </p>
          {both.length > 0 && (
            <p>
              Both have changed {showText(both.join(", "))}. Yours holds there, if you save it on
              top.
            </p>
          )}
          <div className="modal-actions">
            <Button className="button" onPress={draft.keepDrawing}>
              Back to drawing
            </Button>
            <Button className="button" onPress={draft.takeTheirs}>
              Take theirs, discard mine
            </Button>
            <Button className="button button-primary" onPress={() => void draft.saveOnTop()}>
              Save mine on top
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
