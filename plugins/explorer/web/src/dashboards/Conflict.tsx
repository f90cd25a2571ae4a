import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";

import type { Workspace } from "../api/workspaces";
import { showText } from "../app/showText";
import { Moment } from "../inspector/Moment";

interface Props {
  /** What stands there now; null where it was deleted. */
  now: Workspace | null;
  onTheirs(): void;
  /** Hears the version that is replaced. */
  onMine(etag: string): void;
  onBoth(): void;
  onClose(): void;
}

/** What shall stand where somebody else has saved the same dashboard meanwhile. */
export function Conflict({ now, onTheirs, onMine, onBoth, onClose }: Props) {
  return (
    <ModalOverlay className="modal-overlay" isOpen onOpenChange={(open) => !open && onClose()}>
      <Modal className="modal">
        <Dialog role="alertdialog" className="modal-dialog">
          <Heading slot="title">
            {now === null
              ? "Somebody else deleted the dashboard meanwhile"
              : "Somebody else saved the dashboard meanwhile"}
          </Heading>
          <p>
            Nothing was saved.{" "}
            {now !== null && (
              <>
                Theirs is of <Moment title="Saved" value={now.lastUpdateTime} />
                {now.lastUpdateBy !== null && ` by ${showText(now.lastUpdateBy)}`}.
              </>
            )}
          </p>
          <div className="modal-actions">
            <Button className="button button-quiet" onPress={onClose}>
              Back to editing
            </Button>
            {now !== null && (
              <>
                <Button className="button button-danger" onPress={onTheirs}>
                  Take theirs, drop mine
                </Button>
                <Button className="button button-danger" onPress={() => onMine(now.etag)}>
                  Replace theirs by mine
                </Button>
              </>
            )}
            <Button className="button button-primary" onPress={onBoth}>
              {now === null ? "Save mine anew" : "Save mine beside it"}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
