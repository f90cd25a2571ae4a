import { TriangleAlert } from "lucide-react";
import { Button } from "react-aria-components";

import { ApiError } from "../api/errors";
import { showText } from "./showText";

interface Props {
  /** What did not work. */
  title: string;
  error: unknown;
  onRetry?: (() => void) | undefined;
  /** What `onRetry` does, for its button. */
  retryLabel?: string;
}

/** An error at the place that it concerns, whole, with a way to try again. */
export function Failure({ title, error, onRetry, retryLabel = "Try again" }: Props) {
  const request = error instanceof ApiError ? error.requestId : null;
  return (
    <div className="failure" role="alert">
      <TriangleAlert size={18} aria-hidden />
      <div>
        <strong>{showText(title)}</strong>
        <p className="failure-text">
          {showText(error instanceof Error ? error.message : String(error))}
        </p>
        {request !== null && <p className="muted">Request {request}</p>}
        {onRetry !== undefined && (
          <Button className="button" onPress={onRetry}>
            {retryLabel}
          </Button>
        )}
      </div>
    </div>
  );
}
