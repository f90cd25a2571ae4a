import { useInfiniteQuery } from "@tanstack/react-query";
import { History as HistoryIcon } from "lucide-react";
import { Button } from "react-aria-components";

import { ApiError } from "../api/errors";
import { Failure } from "../app/Failure";
import { useIsNarrow } from "../app/media";
import { closeSheet } from "../app/sheet";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { useSession } from "../session/session";
import { tellValue } from "../time/ChangeList";
import { useMoment } from "../time/moment";
import { addressOf, momentAfter, readPast, type Kept, type PastChange } from "./history";
import { Moment } from "./Moment";

/** More values of a change than these are not said. */
const MOST_VALUES = 30;

interface Props {
  of: Kept;
  /** What changes with each write of it, as its etag; "" where it is gone. */
  version: string;
}

/** Who changed what of a twin or relationship, and when; the newest change first. */
export function History({ of, version }: Props) {
  const { graph, graphId } = useSession();
  const asOf = useMoment((state) => state.asOf);
  const address = addressOf(of, asOf);
  const { data, error, isLoading, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } =
    useInfiniteQuery({
      queryKey: ["past-changes", graphId, address, version],
      queryFn: ({ pageParam, signal }) => readPast(graph, pageParam, signal),
      initialPageParam: address,
      getNextPageParam: (last) => last.next,
      retry: false,
      placeholderData: (before) => before,
    });
  if (isLoading) return <Waiting label="Reading the history" />;
  if (error instanceof ApiError && error.status === 501) return <NoHistory why={error.message} />;
  if (error !== null) {
    return (
      <Failure title="The history cannot be read" error={error} onRetry={() => void refetch()} />
    );
  }
  const changes = data?.pages.flatMap((page) => page.changes) ?? [];
  return (
    <section className="inspector-history" aria-label="History">
      {changes.length === 0 && !hasNextPage && (
        <p className="inspector-none muted">
          Nothing of it is kept: it has not changed since the history begins.
        </p>
      )}
      <ol>
        {changes.map((one) => (
          <ChangeOf key={`${one.position} ${one.action}`} change={one} />
        ))}
      </ol>
      {hasNextPage && (
        <Button
          className="button button-small"
          isDisabled={isFetchingNextPage}
          onPress={() => void fetchNextPage()}
        >
          {isFetchingNextPage ? "Reading …" : "Older changes"}
        </Button>
      )}
    </section>
  );
}

function NoHistory({ why }: { why: string }) {
  return (
    <div className="inspector-none muted">
      <p>{why}</p>
      <p>
        Whoever runs the service turns it on with <code>History__Enabled=true</code>, over SQLite or
        PostgreSQL. It begins with the next change.
      </p>
    </div>
  );
}

function ChangeOf({ change }: { change: PastChange }) {
  const { action, time, who, values, position } = change;
  const asOf = useMoment((state) => state.asOf);
  const narrow = useIsNarrow();
  const moment = momentAfter(change);
  // A creation says all that the twin has, which its properties say as well.
  const told = values.slice(0, MOST_VALUES);
  return (
    <li>
      <header>
        <span>
          <strong className={`past-${action}`}>{action}</strong>
          {who !== null && <> by {showText(who)}</>}
        </span>
        <span className="muted" title={`Position ${position}`}>
          <Moment title="Changed" value={time} />
        </span>
        <Button
          className="button button-quiet button-icon button-small"
          aria-label={`Show the graph as of ${new Date(time).toLocaleString()}`}
          isDisabled={asOf === moment}
          onPress={() => {
            useMoment.setState({ asOf: moment, since: null, isOpen: true });
            // On a phone the sheet would stand over it.
            if (narrow) closeSheet();
          }}
        >
          <HistoryIcon size={14} aria-hidden />
        </Button>
      </header>
      {values.length > 0 && (
        <dl>
          {told.map(({ path, before, after, sourceTime }) => (
            <div key={path}>
              <dt>{showText(path.replaceAll("/", "."))}</dt>
              <dd>
                {action !== "created" && (
                  <>
                    <span className="muted">{showText(tellValue(before))}</span> →{" "}
                  </>
                )}
                {showText(tellValue(after))}
                {sourceTime !== null && (
                  <span className="muted">
                    {" "}
                    <Moment title="Measured" value={sourceTime} />
                  </span>
                )}
              </dd>
            </div>
          ))}
          {values.length > told.length && (
            <div className="muted">and {values.length - told.length} more</div>
          )}
        </dl>
      )}
    </li>
  );
}
