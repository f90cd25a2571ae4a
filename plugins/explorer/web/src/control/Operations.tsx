import type { Operation, Resource } from "../api/control";
import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { Moment } from "./Facts";
import { isMoving, useRead } from "./data";

/** What was asked of a resource, the changes of state and the attempts that came of it. */
export function Operations({ resource }: { resource: Resource }) {
  const { project_id: projectId, resource_id: id } = resource;
  const { data, error, refetch } = useRead(
    ["operations", projectId, id, resource.status],
    (control, signal) => control.listOperations(projectId, id, signal),
    isMoving(resource.status) ? 1000 : false,
  );
  if (error !== null && data === undefined) {
    return <Failure title="Operations" error={error} onRetry={() => void refetch()} />;
  }
  if (data === undefined) return <Waiting />;
  return (
    <ol className="control-operations">
      {data.map((one) => (
        <li key={one.operation_id}>
          <Shown operation={one} />
        </li>
      ))}
    </ol>
  );
}

function Shown({ operation }: { operation: Operation }) {
  const { transitions, attempts } = operation;
  return (
    <article>
      <header>
        <strong>{operation.type}</strong>
        <span className={`control-outcome control-outcome-${operation.status}`}>
          {operation.status}
        </span>
        <span className="muted">
          <Moment at={operation.created_at} /> by {operation.requested_by}
        </span>
      </header>
      {operation.note !== "" && <p>{operation.note}</p>}
      <ul>
        {transitions.map((one) => (
          <li key={`${one.at}${one.to}`}>
            <Moment at={one.at} />: {one.from ?? "nothing"} → {one.to}
            <span className="muted"> {one.reason}</span>
          </li>
        ))}
        {attempts.map((one) => (
          <li key={one.number}>
            <Moment at={one.at} />: attempt {one.number}
            <span className="muted"> {one.outcome}</span>
          </li>
        ))}
      </ul>
    </article>
  );
}
