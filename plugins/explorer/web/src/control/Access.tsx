import { Button, Cell, Column, Row, Table, TableBody, TableHeader } from "react-aria-components";

import type { Assignment, Scope } from "../api/control";
import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { useNotices } from "../app/notices";
import { Moment } from "./Facts";
import { FormDialog } from "./FormDialog";
import { GrantRole } from "./GrantRole";
import { useChange, useMayAt, useRead } from "./data";

interface Props {
  scope: Scope;
  /** Whose own roles can be given too; null for the platform, which is in none. */
  organizationId: string | null;
}

/** Who holds which role at a scope; grant and revoke. */
export function Access({ scope, organizationId }: Props) {
  const may = useMayAt(scope);
  const { data, error, refetch } = useRead(["assignments", scope], (control, signal) =>
    control.listAssignments(scope, signal),
  );
  const roles = useRead(["roles", organizationId], (control, signal) =>
    control.listRoles(organizationId, signal),
  );
  if (error !== null && data === undefined) {
    return <Failure title="Access" error={error} onRetry={() => void refetch()} />;
  }
  if (data === undefined) return <Waiting />;
  const nameOf = (id: string): string => roles.data?.find((one) => one.role_id === id)?.name ?? id;
  return (
    <>
      <div className="control-bar">
        <p className="muted">
          {organizationId === null
            ? "Roles that are held here count in all organizations."
            : "Roles that are held further up count here too."}
        </p>
        {may("access/write") && roles.data !== undefined && (
          <GrantRole scope={scope} roles={roles.data} />
        )}
      </div>
      {roles.error !== null && (
        <Failure title="Roles" error={roles.error} onRetry={() => void roles.refetch()} />
      )}
      <Table aria-label="Who holds which role" className="control-table">
        <TableHeader>
          <Column isRowHeader>Who</Column>
          <Column>Role</Column>
          <Column>Until</Column>
          <Column>Granted by</Column>
          <Column>
            <span className="visually-hidden">Actions</span>
          </Column>
        </TableHeader>
        <TableBody
          items={data.map((one) => ({ ...one, id: one.assignment_id }))}
          dependencies={[roles.data]}
          renderEmptyState={() => (
            <p className="muted control-empty">Nobody holds a role right here.</p>
          )}
        >
          {(one) => (
            <Row>
              <Cell>{one.user_id ?? `${one.email} (invited)`}</Cell>
              <Cell>{nameOf(one.role_id)}</Cell>
              <Cell>{one.expires_at === null ? "–" : <Moment at={one.expires_at} />}</Cell>
              <Cell>{one.created_by}</Cell>
              <Cell>
                {may("access/write") && <Revoke assignment={one} role={nameOf(one.role_id)} />}
              </Cell>
            </Row>
          )}
        </TableBody>
      </Table>
    </>
  );
}

function Revoke({ assignment, role }: { assignment: Assignment; role: string }) {
  const revoke = useChange((control) => control.deleteAssignment(assignment.assignment_id));
  const who = assignment.user_id ?? assignment.email ?? "";
  return (
    <FormDialog
      trigger={<Button className="button button-quiet button-small button-danger">Revoke</Button>}
      title={`Take the role ${role} from ${who}?`}
      submit="Revoke"
      danger
      isReady
      onSubmit={async () => {
        await revoke.mutateAsync(undefined);
        useNotices.getState().say(`${who} holds ${role} no more.`);
      }}
    >
      <p>What {who} may do by another role stays.</p>
    </FormDialog>
  );
}
