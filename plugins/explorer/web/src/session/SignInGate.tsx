import { useEffect, useState, type ReactNode } from "react";
import { Button } from "react-aria-components";
import { useLocation } from "wouter";

import type { Configuration } from "../api/types";
import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { SignIn } from "./SignIn";
import { SignInAgain } from "./SignInAgain";
import { SignOutQuestion } from "./SignOutQuestion";
import { useCredentials } from "./credentials";
import { finishSignIn, leaveToSignIn, RETURN_ROUTE, wasSignedIn } from "./flow";
import { restorePasted } from "./pasted";
import "./session.css";

interface Props {
  configuration: Configuration;
  children: ReactNode;
}

/** Shows the page to whoever has signed in, or to all where nobody is asked. */
export function SignInGate({ configuration, children }: Props) {
  const phase = useCredentials((state) => state.phase);
  const [path] = useLocation();
  // Before anything is drawn, or the sign-in would flash up.
  useState(() => restorePasted());
  if (!configuration.authentication) return children;
  if (path === RETURN_ROUTE) return <Returning configuration={configuration} />;
  if (phase === "out") {
    if (configuration.signIn !== null && wasSignedIn()) {
      return <Leaving configuration={configuration} />;
    }
    return <SignIn configuration={configuration} />;
  }
  return (
    <>
      {children}
      {phase === "expired" && <SignInAgain configuration={configuration} />}
      <SignOutQuestion />
    </>
  );
}

/** Back from the authority. */
function Returning({ configuration }: { configuration: Configuration }) {
  const [, navigate] = useLocation();
  const [outcome, setOutcome] = useState<{ error: unknown } | "handed" | null>(null);
  useEffect(() => {
    finishSignIn(configuration).then(
      (returned) => {
        if ("back" in returned) return navigate(returned.back, { replace: true });
        const { refused } = returned;
        setOutcome(refused === null ? "handed" : { error: explainRefusal(refused) });
        window.close();
      },
      (error: unknown) => setOutcome({ error }),
    );
  }, [configuration, navigate]);
  const start = (): void => navigate("/", { replace: true });
  if (outcome === null) return <Waiting label="Signing in" />;
  return (
    <main className="sign-in">
      {outcome === "handed" ? (
        <div className="sign-in-card">
          <p>The answer went to the window that asked for it. You may close this window.</p>
          <Button className="button" onPress={start}>
            Open the explorer here
          </Button>
        </div>
      ) : (
        <Failure title="Signing in did not work" error={outcome.error} onRetry={start} />
      )}
    </main>
  );
}

// SEC: anybody can make a link with any text in it; only what looks like a code of OAuth is shown.
function explainRefusal(code: string): Error {
  const shown = /^\w{1,60}$/.test(code) ? `: ${code}` : "";
  return new Error(`The authority has signed nobody in${shown}.`);
}

/** A reload has forgotten the tokens: the authority is asked whether it still knows the browser. */
function Leaving({ configuration }: { configuration: Configuration }) {
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    leaveToSignIn(configuration, true).catch(setError);
  }, [configuration]);
  if (error !== null) return <SignIn configuration={configuration} error={error} />;
  return <Waiting label="Signing in" />;
}
