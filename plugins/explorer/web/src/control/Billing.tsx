import { Cell, Column, Row, Table, TableBody, TableHeader } from "react-aria-components";

import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { Facts, Moment } from "./Facts";
import { nameMeter, renderMoney } from "./amounts";
import { useRead } from "./data";

/** Who pays for a project, and what this month comes to so far. */
export function Billing({ projectId }: { projectId: string }) {
  const { data, error, refetch } = useRead(["payer", projectId], (control, signal) =>
    control.readPayer(projectId, signal),
  );
  if (error !== null && data === undefined) {
    return <Failure title="Billing" error={error} onRetry={() => void refetch()} />;
  }
  if (data === undefined) return <Waiting />;
  if (data === null) return <p className="muted">Nobody pays for this project.</p>;
  return (
    <>
      <Facts
        facts={[
          ["Paid by", data.name || `the ${data.scope_type} ${data.scope_id}`],
          ["Bills go to", data.email || "–"],
          ["Account", <code key="id">{data.account_id}</code>],
          ["Held by", `${data.scope_type} ${data.scope_id}`],
        ]}
      />
      {/* The texts of an account that one may not read are empty, and so are its statements. */}
      {data.name !== "" && <Statement accountId={data.account_id} projectId={projectId} />}
    </>
  );
}

function Statement({ accountId, projectId }: { accountId: string; projectId: string }) {
  const month = new Date().toISOString().slice(0, 7);
  const { data, error, refetch } = useRead(["statement", accountId, month], (control, signal) =>
    control.readStatement(accountId, month, signal),
  );
  if (error !== null && data === undefined) {
    const title = `Statement of ${month}`;
    return <Failure title={title} error={error} onRetry={() => void refetch()} />;
  }
  if (data === undefined) return <Waiting />;
  const own = data.line_items.filter((one) => one.project_id === projectId);
  const total = own.reduce((sum, one) => sum + one.amount, 0);
  return (
    <>
      <h2>
        {data.month} ({data.status}): {renderMoney(total, data.currency)} for this project
      </h2>
      <p className="muted">
        As of <Moment at={data.until} />. The account comes to{" "}
        {renderMoney(data.total, data.currency)} in all.
      </p>
      <Table aria-label="What it is for" className="control-table">
        <TableHeader>
          <Column isRowHeader>Resource</Column>
          <Column>Sku</Column>
          <Column>Meter</Column>
          <Column>Amount</Column>
        </TableHeader>
        <TableBody
          items={own.map((one, place) => ({ ...one, id: place }))}
          renderEmptyState={() => <p className="muted control-empty">Nothing so far.</p>}
        >
          {(one) => (
            <Row>
              <Cell>{one.resource_id}</Cell>
              <Cell>{one.sku}</Cell>
              <Cell>{nameMeter(one.meter)}</Cell>
              <Cell>{renderMoney(one.amount, data.currency)}</Cell>
            </Row>
          )}
        </TableBody>
      </Table>
    </>
  );
}
