import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ProgressBar } from "react-aria-components";

import type { Twin } from "../api/types";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { useSelection } from "../app/selection";
import { Waiting } from "../app/Waiting";
import { useSession } from "../session/session";
import { showText } from "../app/showText";
import { buildDeletion, MOST_ATTACHED, readAttached, type Attached } from "./deletion";
import { draftKey, useDrafts } from "./drafts";
import { copyContents, recordMade } from "./made";
import { FormFrame } from "./FormFrame";

/** Deletes a twin with all that leads from it and to it, which is shown first. */
export function DeleteTwin({ twin, onClose }: { twin: Twin; onClose(): void }) {
  const { graph, graphId, may } = useSession();
  const client = useQueryClient();
  const { say } = useNotices();
  const select = useSelection((state) => state.select);
  const id = twin.$dtId;
  const queryKey = ["attached", graphId, id];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => readAttached(graph, id, may("query/read"), signal),
    staleTime: 0,
  });
  /** How many relationships the transactions so far have deleted. */
  const [gone, setGone] = useState<{ done: number; of: number; ended: boolean } | null>(null);
  const attached = data === undefined ? [] : [...data.outgoing, ...data.incoming];
  const tooMany = attached.length > MOST_ATTACHED;
  const steps = buildDeletion(id, twin.$etag, attached);
  const allowed =
    attached.length === 0 ||
    (may("digitaltwins/relationships/delete") && may("digitaltwins/write"));

  const remove = async (): Promise<void> => {
    if (attached.length === 0) await graph.deleteTwin(id, twin.$etag);
    else {
      let done = 0;
      const of = attached.length;
      for (const operations of steps) {
        setGone({ done, of, ended: false });
        await graph.transact(operations);
        done += operations.length;
      }
    }
    useDrafts.getState().drop(draftKey(graphId, id));
    select(null);
    for (const kind of ["counts", "relationships", "incoming"]) {
      void client.invalidateQueries({ queryKey: [kind, graphId] });
    }
    client.removeQueries({ queryKey: ["twin", graphId, id] });
    const undo = recordMade({
      graphId,
      text: attached.length === 0 ? `${id} deleted` : `${id} and ${count(attached)} deleted`,
      of: { kind: "twin", id },
      undo:
        attached.length > 0
          ? null
          : async () => {
              const { $model } = twin.$metadata;
              await graph.createTwin(id, { ...copyContents(twin), $metadata: { $model } });
            },
    });
    say(
      attached.length === 0 ? `${id} is deleted.` : `${id} and ${count(attached)} are deleted.`,
      undo,
    );
  };
  return (
    <FormFrame
      title={`Delete ${id}?`}
      submit={attached.length === 0 ? "Delete" : `Delete it and ${count(attached)}`}
      danger
      isReady={data !== undefined && allowed && !tooMany}
      onSubmit={remove}
      // What was shown is not what there is any more.
      onError={() => {
        setGone((before) => before && { ...before, ended: true });
        void refetch();
        void client.invalidateQueries({ queryKey: ["twin", graphId, id] });
      }}
      onClose={onClose}
    >
      {error !== null && <Failure title="What goes with it cannot be read" error={error} />}
      {data === undefined && error === null && <Waiting label="Reading what goes with it" />}
      {data !== undefined && attached.length === 0 && (
        <p>
          No relationship leads from it or to it. The list of changes can undo it while this page is
          open.
        </p>
      )}
      {attached.length > 0 && !tooMany && (
        <>
          {steps.length === 1 ? (
            <p>
              Its relationships go with it, all or none; the twins at their other ends stay. This
              cannot be taken back.
            </p>
          ) : (
            <p>
              Its relationships go with it; the twins at their other ends stay. They are too many
              for one transaction: they go in {steps.length}, one after the other, and the twin with
              the last. If one of them fails, what went before it stays deleted. This cannot be
              taken back.
            </p>
          )}
          <Going title="Leading from it" lines={data?.outgoing ?? []} />
          <Going title="Leading to it" lines={data?.incoming ?? []} />
        </>
      )}
      {gone !== null && steps.length > 1 && !gone.ended && (
        <ProgressBar aria-label="Deleting" value={gone.done} maxValue={gone.of} className="muted">
          {gone.done.toLocaleString()} of {count(attached)} are deleted
        </ProgressBar>
      )}
      {gone?.ended && gone.done > 0 && (
        <p role="status">
          {gone.done.toLocaleString()} of the relationships were deleted before it failed. The twin
          and the rest of them are still there.
        </p>
      )}
      {tooMany && (
        <p>
          More than {MOST_ATTACHED.toLocaleString()} relationships lead from it and to it, which are
          too many to delete from here. Delete some of them first.
        </p>
      )}
      {!allowed && <p>You may not delete its relationships, without which it cannot go.</p>}
    </FormFrame>
  );
}

function count(attached: readonly Attached[]): string {
  return attached.length === 1
    ? "1 relationship"
    : `${attached.length.toLocaleString()} relationships`;
}

/** PERF: a dialog draws some hundred lines at once. */
const MOST_SHOWN = 300;

function Going({ title, lines }: { title: string; lines: readonly Attached[] }) {
  if (lines.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3>
        {title} <span className="muted">{lines.length.toLocaleString()}</span>
      </h3>
      <ul className="inspector-going">
        {lines.slice(0, MOST_SHOWN).map((one) => (
          <li key={`${one.sourceId}\n${one.id}`}>
            <strong>{one.name}</strong> <code>{showText(one.other)}</code>
          </li>
        ))}
        {lines.length > MOST_SHOWN && (
          <li className="muted">and {(lines.length - MOST_SHOWN).toLocaleString()} more</li>
        )}
      </ul>
    </section>
  );
}
