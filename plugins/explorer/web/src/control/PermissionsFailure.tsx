import type { Scope } from "../api/control";
import { Failure } from "../app/Failure";
import { usePermissions } from "./data";

/** Says so where it is not known what one may do at a scope, as nothing is offered then. */
export function PermissionsFailure({ scope }: { scope: Scope }) {
  const { error, data, refetch } = usePermissions(scope);
  if (error === null || data !== undefined) return null;
  return (
    <Failure
      title="What you may do here is not known, so nothing is offered"
      error={error}
      onRetry={() => void refetch()}
    />
  );
}
