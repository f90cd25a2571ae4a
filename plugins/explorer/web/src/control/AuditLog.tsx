import { useInfiniteQuery } from "@tanstack/react-query";
import { Button } from "react-aria-components";

import type { AuditEntry, AuditPage, Scope } from "../api/control";
import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { Moment } from "./Facts";
import { listDifferences } from "./audit";
import { useControl } from "./data";

/** Who changed what at a scope and in it, the newest change first. */
export function AuditLog({ scope }: { scope: Scope }) {
  const control = useControl();
  const log = useInfiniteQuery({
    queryKey: ["control", "audit", scope],
    queryFn: ({ pageParam, signal }) => control.readAudit(scope, pageParam, signal),
    initialPageParam: null as number | null,
    getNextPageParam: nextOf,
  });
  const entries = log.data?.pages.flatMap((page) => page.entries) ?? [];
  const retry = () => void log.refetch();
  return (
    <>
      {log.error !== null && <Failure title="Changes" error={log.error} onRetry={retry} />}
      {log.isPending && <Waiting />}
      <ol className="control-operations" aria-label="Changes">
        {entries.map((one) => (
          <li key={one.position}>
            <Change entry={one} />
          </li>
        ))}
      </ol>
      {log.isSuccess && entries.length === 0 && <p className="muted">Nothing has changed yet.</p>}
      {log.hasNextPage && (
        <div>
          <Button
            className="button"
            isPending={log.isFetching}
            onPress={() => void log.fetchNextPage()}
          >
            Older changes
          </Button>
        </div>
      )}
    </>
  );
}

// NOTE: `total` counts all changes of the scope, wherever a page begins.
function nextOf(page: AuditPage, pages: AuditPage[]): number | null {
  const read = pages.reduce((sum, one) => sum + one.entries.length, 0);
  return read < page.total ? (page.entries.at(-1)?.position ?? null) : null;
}

function Change({ entry }: { entry: AuditEntry }) {
  const differences = listDifferences(entry);
  return (
    <article>
      <header>
        <strong>{entry.action}</strong>
        <code>{entry.target}</code>
        <span className="muted">
          <Moment at={entry.at} /> by {entry.actor_email ?? entry.actor}
          {entry.actor_kind !== "user" && ` (${entry.actor_kind})`}
        </span>
      </header>
      {differences.length > 0 && (
        <dl className="control-facts control-changes">
          {differences.map(({ name, before, after }) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                {before !== null && <del>{before}</del>} {after !== null && <ins>{after}</ins>}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </article>
  );
}
