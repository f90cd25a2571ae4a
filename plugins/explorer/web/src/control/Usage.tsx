import {
  Cell,
  Column,
  Label,
  Meter,
  Row,
  Table,
  TableBody,
  TableHeader,
} from "react-aria-components";

import type { QuotaState } from "../api/control";
import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { nameMeter, renderAmount, renderBytes, sumByDay } from "./amounts";
import { useRead } from "./data";

/** What a resource uses of what it may, and what was measured this month. */
export function Usage({ projectId, id }: { projectId: string; id: string }) {
  const quotas = useRead(["quotas", projectId, id], (control, signal) =>
    control.readQuotas(projectId, id, signal),
  );
  const usage = useRead(["usage", projectId, id], (control, signal) =>
    control.readUsage(projectId, id, signal),
  );
  if (quotas.data === undefined || usage.data === undefined) {
    const error = quotas.error ?? usage.error;
    if (error === null) return <Waiting />;
    const retry = (): void => {
      for (const one of [quotas, usage]) if (one.error !== null) void one.refetch();
    };
    return <Failure title="Usage" error={error} onRetry={retry} />;
  }
  return (
    <>
      <h2>Quotas</h2>
      {quotas.data.length === 0 && <p className="muted">This sku has no limits.</p>}
      <div className="control-quotas">
        {quotas.data.map((one) => (
          <Used key={one.quota} state={one} />
        ))}
      </div>
      <h2>Measured in {usage.data.month}</h2>
      <Table aria-label={`Measured in ${usage.data.month}`} className="control-table">
        <TableHeader>
          <Column isRowHeader>Day (UTC)</Column>
          <Column>Twins</Column>
          <Column>Storage</Column>
          <Column>Operations</Column>
          <Column>Query units</Column>
        </TableHeader>
        <TableBody
          items={sumByDay(usage.data.samples).map((one) => ({ ...one, id: one.day }))}
          renderEmptyState={() => (
            <p className="muted control-empty">Nothing has been measured yet this month.</p>
          )}
        >
          {(one) => (
            <Row>
              <Cell>{one.day}</Cell>
              <Cell>{one.twins.toLocaleString("en")}</Cell>
              <Cell>{renderBytes(one.storage_bytes)}</Cell>
              <Cell>{one.operations.toLocaleString("en")}</Cell>
              <Cell>{renderAmount("query_charge", one.query_charge)}</Cell>
            </Row>
          )}
        </TableBody>
      </Table>
    </>
  );
}

function Used({ state: { quota, limit, used } }: { state: QuotaState }) {
  const of = `of ${renderAmount(quota, limit)}`;
  if (used === null) {
    return (
      <p className="control-quota">
        <span>{nameMeter(quota)}</span>
        <span className="muted">not measured yet, {of}</span>
      </p>
    );
  }
  return (
    <Meter
      className={`control-quota${used >= limit * 0.9 ? " control-quota-full" : ""}`}
      value={Math.min(used, limit)}
      maxValue={limit}
      valueLabel={`${renderAmount(quota, used)} ${of}`}
    >
      {({ percentage, valueText }) => (
        <>
          <Label>{nameMeter(quota)}</Label>
          <span className="muted">{valueText}</span>
          <div className="control-meter">
            <div style={{ width: `${percentage}%` }} />
          </div>
        </>
      )}
    </Meter>
  );
}
