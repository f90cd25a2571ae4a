import { useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";

import type { Configuration } from "../api/types";
import { Failure } from "../app/Failure";
import { queryClient } from "../app/queryClient";
import { PasteToken } from "./PasteToken";
import { useCredentials } from "./credentials";
import { signInBeside, signOut } from "./flow";

/** Comes over the page when its token is taken no longer; the page stays as it is below. */
export function SignInAgain({ configuration }: { configuration: Configuration }) {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const user = useCredentials((state) => state.user);
  const open = (): void => {
    setBusy(true);
    setError(null);
    signInBeside(configuration)
      .catch(setError)
      .finally(() => setBusy(false));
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
            <Button className="button button-primary" isDisabled={busy} onPress={open}>
              {busy ? "Waiting for the other window…" : "Sign in again"}
            </Button>
          )}
          {configuration.signIn !== null && <p className="sign-in-or">or</p>}
          <PasteToken configuration={configuration} />
          <div className="modal-actions">
            <Button className="button button-quiet" onPress={() => void signOut()}>
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
