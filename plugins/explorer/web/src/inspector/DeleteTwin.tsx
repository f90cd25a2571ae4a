import { useQuery, useQueryClient } from "@tanstack/react-query";

import type { Twin } from "../api/types";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { useSelection } from "../app/selection";
import { Waiting } from "../app/Waiting";
import { useSession } from "../session/session";
import { buildDeletion, MOST_ATTACHED, readAttached, type Attached } from "./deletion";
import { draftKey, useDrafts } from "./drafts";
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
  const attached = data === undefined ? [] : [...data.outgoing, ...data.incoming];
  const tooMany = attached.length > MOST_ATTACHED;
  const allowed =
    attached.length === 0 ||
    (may("digitaltwins/relationships/delete") && may("digitaltwins/write"));

  const remove = async (): Promise<void> => {
    if (attached.length === 0) await graph.deleteTwin(id, twin.$etag);
    else await graph.transact(buildDeletion(id, twin.$etag, attached));
    useDrafts.getState().drop(draftKey(graphId, id));
    select(null);
    for (const kind of ["counts", "relationships", "incoming"]) {
      void client.invalidateQueries({ queryKey: [kind, graphId] });
    }
    client.removeQueries({ queryKey: ["twin", graphId, id] });
    say(attached.length === 0 ? `${id} is deleted.` : `${id} and ${count(attached)} are deleted.`);
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
        void refetch();
        void client.invalidateQueries({ queryKey: ["twin", graphId, id] });
      }}
      onClose={onClose}
    >
      {error !== null && <Failure title="What goes with it cannot be read" error={error} />}
      {data === undefined && error === null && <Waiting label="Reading what goes with it" />}
      {data !== undefined && attached.length === 0 && (
        <p>No relationship leads from it or to it. This cannot be taken back.</p>
      )}
      {attached.length > 0 && !tooMany && (
        <>
          <p>
            Its relationships go with it, all or none; the twins at their other ends stay. This
            cannot be taken back.
          </p>
          <Going title="Leading from it" lines={data?.outgoing ?? []} />
          <Going title="Leading to it" lines={data?.incoming ?? []} />
        </>
      )}
      {tooMany && (
        <p>
          More than {MOST_ATTACHED.toLocaleString()} relationships lead from it and to it, which is
          more than one transaction takes. Delete some of them first.
        </p>
      )}
      {!allowed && <p>You may not delete its relationships, without which it cannot go.</p>}
    </FormFrame>
  );
}

function count(attached: readonly Attached[]): string {
  return attached.length === 1 ? "1 relationship" : `${attached.length} relationships`;
}

function Going({ title, lines }: { title: string; lines: readonly Attached[] }) {
  if (lines.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3>
        {title} <span className="muted">{lines.length}</span>
      </h3>
      <ul className="inspector-going">
        {lines.map((one) => (
          <li key={`${one.sourceId}\n${one.id}`}>
            <strong>{one.name}</strong> <code>{one.other}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
