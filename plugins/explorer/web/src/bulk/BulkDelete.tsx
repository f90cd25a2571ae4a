import { useQuery, useQueryClient } from "@tanstack/react-query";

import type { Statistics } from "../api/types";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { useSelection } from "../app/selection";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { tellCounts } from "../data/numbers";
import { draftKey, useDrafts } from "../inspector/drafts";
import { FormFrame } from "../inspector/FormFrame";
import { recordMade } from "../inspector/made";
import { useSession } from "../session/session";
import "./bulk.css";

const DELETION = "MATCH (n) WHERE n.$dtId IN $ids DETACH DELETE n";
/** PERF: a dialog draws some hundred lines at once. */
const MOST_SHOWN = 300;

/** Deletes several twins with their relationships, all or none; a rehearsal says how many. */
export default function BulkDelete({ ids, onClose }: { ids: readonly string[]; onClose(): void }) {
  const { graph, graphId } = useSession();
  const client = useQueryClient();
  const { selected, select } = useSelection();
  const parameters = { ids: [...ids] };
  const { data, error } = useQuery({
    queryKey: ["bulk deletion", graphId, ids],
    queryFn: ({ signal }) => graph.runStatement(DELETION, { parameters, rehearse: true, signal }),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const counted = data && tell(data.statistics);
  const remove = async (): Promise<void> => {
    const { statistics } = await graph.runStatement(DELETION, { parameters });
    for (const id of ids) useDrafts.getState().drop(draftKey(graphId, id));
    if (selected?.kind === "twin" && ids.includes(selected.id)) select(null);
    for (const kind of ["counts", "relationships", "incoming", "locations"]) {
      void client.invalidateQueries({ queryKey: [kind, graphId] });
    }
    const gone = tell(statistics);
    const of = { kind: "twin" as const, id: ids[0] ?? "" };
    recordMade({ graphId, text: `${gone} deleted`, of, undo: null });
    useNotices.getState().say(`${gone} are deleted.`);
  };
  return (
    <FormFrame
      title={`Delete ${ids.length.toLocaleString()} twins?`}
      submit={counted === undefined ? "Delete them" : `Delete ${counted}`}
      danger
      isReady={data !== undefined && data.statistics.nodesDeleted > 0}
      onSubmit={remove}
      onClose={onClose}
    >
      {error !== null && <Failure title="They cannot be deleted" error={error} />}
      {data === undefined && error === null && <Waiting label="Counting what goes with them" />}
      {counted !== undefined && (
        <p>
          {counted} go, all or none; the twins at the other ends of the relationships stay. This
          cannot be taken back.
        </p>
      )}
      <ul className="bulk-steps" aria-label="Twins">
        {ids.slice(0, MOST_SHOWN).map((id) => (
          <li key={id}>
            <code>{showText(id)}</code>
          </li>
        ))}
        {ids.length > MOST_SHOWN && (
          <li className="muted">and {(ids.length - MOST_SHOWN).toLocaleString()} more</li>
        )}
      </ul>
    </FormFrame>
  );
}

function tell({ nodesDeleted, relationshipsDeleted }: Statistics): string {
  return tellCounts([
    [nodesDeleted, "twins"],
    [relationshipsDeleted, "relationships"],
  ]);
}
