import { useEffect, useState, type ReactNode } from "react";
import { useLocation } from "wouter";

import type { Configuration } from "../api/types";
import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { SignIn } from "./SignIn";
import { SignInAgain } from "./SignInAgain";
import { useCredentials } from "./credentials";
import { finishSignIn, leaveToSignIn, RETURN_ROUTE, wasSignedIn } from "./flow";
import "./session.css";

interface Props {
  configuration: Configuration;
  children: ReactNode;
}

/** Shows the page to whoever has signed in, or to all where nobody is asked. */
export function SignInGate({ configuration, children }: Props) {
  const phase = useCredentials((state) => state.phase);
  const [path] = useLocation();
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
    </>
  );
}

/** Back from the authority. */
function Returning({ configuration }: { configuration: Configuration }) {
  const [, navigate] = useLocation();
  const [outcome, setOutcome] = useState<unknown>(null);
  useEffect(() => {
    finishSignIn(configuration).then(
      (returned) => {
        if (returned === "handed") {
          setOutcome(returned);
          window.close();
        } else navigate(returned.back, { replace: true });
      },
      (error: unknown) => setOutcome(error),
    );
  }, [configuration, navigate]);
  if (outcome === null) return <Waiting label="Signing in" />;
  return (
    <main className="sign-in">
      {outcome === "handed" ? (
        <p>You are signed in. You may close this window.</p>
      ) : (
        <Failure
          title="Signing in did not work"
          error={outcome}
          onRetry={() => navigate("/", { replace: true })}
        />
      )}
    </main>
  );
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
