import { useEffect, useRef, useState } from "react";

import type { Configuration } from "../api/types";
import { Failure } from "../app/Failure";
import { WrongAudience } from "./audiences";
import { signInBeside } from "./flow";

interface Props {
  configuration: Configuration;
  title: string;
  error: Error;
  onRetry(): void;
}

/** An error of what cannot be read at all; where it asks for another token, with the way to one. */
export function AccessFailure({ configuration, title, error, onRetry }: Props) {
  const [problem, setProblem] = useState<unknown>(null);
  const trying = useRef<AbortController | null>(null);
  useEffect(() => () => trying.current?.abort(), []);
  if (!(error instanceof WrongAudience) || configuration.signIn === null) {
    return <Failure title={title} error={error} onRetry={onRetry} />;
  }
  const { audience } = error.recipient;
  const signIn = (): void => {
    trying.current?.abort();
    const attempt = new AbortController();
    trying.current = attempt;
    setProblem(null);
    signInBeside(configuration, attempt.signal, audience).then(onRetry, (failure: unknown) => {
      if (!attempt.signal.aborted) setProblem(failure);
    });
  };
  return (
    <>
      <Failure
        title={title}
        error={error}
        retryLabel={`Sign in for ${audience}`}
        onRetry={signIn}
      />
      {problem !== null && <Failure title="Signing in did not work" error={problem} />}
    </>
  );
}
