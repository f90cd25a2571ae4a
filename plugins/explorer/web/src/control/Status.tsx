import type { ResourceStatus } from "../api/control";
import { isMoving } from "./data";

/** The state of a resource as a dot; its name is said beside it or to screen readers. */
export function StatusDot({ status }: { status: ResourceStatus }) {
  return (
    <span
      role="img"
      aria-label={status}
      className={`control-dot control-dot-${status}${isMoving(status) ? " control-moving" : ""}`}
    />
  );
}

/** The state of a resource in words. */
export function Status({ status }: { status: ResourceStatus }) {
  return (
    <span className="control-status">
      <StatusDot status={status} />
      <span aria-hidden>{status}</span>
    </span>
  );
}
