import { LogIn } from "lucide-react";
import { useState } from "react";
import { Button } from "react-aria-components";

import type { Configuration } from "../api/types";
import { Failure } from "../app/Failure";
import { PasteToken } from "./PasteToken";
import { leaveToSignIn } from "./flow";

interface Props {
  configuration: Configuration;
  /** Why signing in without asking did not work. */
  error?: unknown;
}

/** What is shown to whoever has not signed in. */
export function SignIn({ configuration, error: first = null }: Props) {
  const [error, setError] = useState(first);
  const [busy, setBusy] = useState(false);
  const { signIn } = configuration;
  const leave = (): void => {
    setBusy(true);
    leaveToSignIn(configuration, false).catch((problem: unknown) => {
      setError(problem);
      setBusy(false);
    });
  };
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <h1>twinframe explorer</h1>
        <p className="muted">This service asks its callers who they are.</p>
        {error !== null && <Failure title="Signing in did not work" error={error} />}
        {signIn !== null && (
          <>
            <Button className="button button-primary" isDisabled={busy} onPress={leave}>
              <LogIn size={16} aria-hidden />
              Sign in at {new URL(signIn.authority).host}
            </Button>
            <p className="sign-in-or">or</p>
          </>
        )}
        <PasteToken configuration={configuration} />
      </div>
    </main>
  );
}
