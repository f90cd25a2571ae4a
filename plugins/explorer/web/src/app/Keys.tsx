import { useEffect, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { useLocation } from "wouter";

import { useSession } from "../session/session";
import { routeOf } from "./addresses";
import { usePreferences } from "./preferences";
import { openFinder } from "./sheet";
import type { View } from "./views";

const MODIFIER = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘" : "Ctrl";

const KEYS: readonly [string, string][] = [
  ["?", "Show these keys"],
  [`${MODIFIER} K`, "Find a twin"],
  ["/", "Write a query"],
  [`${MODIFIER} Enter`, "Run the query; save what is edited"],
  [`${MODIFIER} Shift Enter`, "Explain the query"],
  ["Enter", "Save, in a field of the inspector"],
  ["Shift Enter", "A new line, in a field of text"],
  ["Tab, arrow keys", "Walk through the page, its tables, trees and pictures"],
  ["Escape", "Close what is open"],
];

/** How many frames the inspector has to come up, before its search is given up. */
const PATIENCE = 120;

/** The keys that work everywhere, and the list of all keys. */
export function Keys({ view, narrow }: { view: View; narrow: boolean }) {
  const { graphId } = useSession();
  const [, navigate] = useLocation();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const find = (): void => {
      if (!view.inspected) navigate(routeOf(graphId, "query"));
      if (narrow) return openFinder();
      usePreferences.getState().setInspectorOpen(true);
      focusFinder(PATIENCE);
    };
    const hear = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.altKey) return;
      const isCommand = event.ctrlKey || event.metaKey;
      const hasDialog = document.querySelector('[role$="dialog"]') !== null;
      if (isCommand && event.key.toLowerCase() === "k" && !event.shiftKey && !hasDialog) {
        event.preventDefault();
        find();
      }
      if (event.key === "?" && !isCommand && !hasDialog && !isWriting(event)) {
        event.preventDefault();
        setOpen(true);
      }
    };
    document.addEventListener("keydown", hear);
    return () => document.removeEventListener("keydown", hear);
  }, [view, narrow, graphId, navigate]);
  return (
    <ModalOverlay
      className="react-aria-ModalOverlay"
      isOpen={isOpen}
      onOpenChange={setOpen}
      isDismissable
    >
      <Modal className="react-aria-Modal">
        <Dialog>
          <Heading slot="title">Keys</Heading>
          <dl className="keys">
            {KEYS.map(([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <div className="modal-actions">
            <Button className="button" slot="close">
              Close
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** Whether a key goes into a text; the editor of queries has its field in a shadow root. */
export function isWriting(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

function focusFinder(frames: number): void {
  const field = document.querySelector<HTMLInputElement>(".inspector-find input");
  if (field !== null) field.focus();
  else if (frames > 0) requestAnimationFrame(() => focusFinder(frames - 1));
}
