import { useEffect, useRef, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";

import type { Configuration } from "../api/types";
import { Failure } from "../app/Failure";
import { queryClient } from "../app/queryClient";
import { PasteToken } from "./PasteToken";
import { useCredentials } from "./credentials";
import { signInBeside } from "./flow";
import { leave } from "./leaving";

/** Comes over the page when its token is taken no longer; the page stays as it is below. */
export function SignInAgain({ configuration }: { configuration: Configuration }) {
  const [error, setError] = useState<unknown>(null);
  const [waits, setWaits] = useState(false);
  const user = useCredentials((state) => state.user);
  const trying = useRef<AbortController | null>(null);
  useEffect(() => () => trying.current?.abort(), []);
  // The other window may have been closed, which nobody tells this page: one may always try anew.
  const open = (): void => {
    trying.current?.abort();
    const attempt = new AbortController();
    trying.current = attempt;
    setWaits(true);
    setError(null);
    signInBeside(configuration, attempt.signal).catch((problem: unknown) => {
      if (attempt.signal.aborted) return;
      setWaits(false);
      setError(problem);
    });
  };
  return (
    <ModalOverlay className="modal-overlay" isOpen>
      <Modal className="modal">
        <Dialog className="modal-dialog" role="alertdialog">
          <Heading slot="title">Sign in again</Heading>
          <p>
            The service no longer takes the token{user === null ? "" : ` of ${user}`}. What you have
            written stays; sign in again to go on.
          </p>
          {error !== null && <Failure title="Signing in did not work" error={error} />}
          {configuration.signIn !== null && (
            <Button className="button button-primary" onPress={open}>
              {waits ? "Open the window again" : "Sign in again"}
            </Button>
          )}
          {waits && (
            <p className="muted" role="status">
              Waiting for the other window. If it is closed, open it again.
            </p>
          )}
          {configuration.signIn !== null && <p className="sign-in-or">or</p>}
          <PasteToken configuration={configuration} />
          <div className="modal-actions">
            <Button className="button button-quiet" onPress={leave}>
              Sign out
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

// What was refused meanwhile is asked again as soon as there is a token for it.
useCredentials.subscribe((now, before) => {
  if (now.phase === "in" && before.phase === "expired") void queryClient.invalidateQueries();
});
