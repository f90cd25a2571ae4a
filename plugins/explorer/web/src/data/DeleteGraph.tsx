import { useQueryClient } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { Button, Input, Label, TextField } from "react-aria-components";

import { FormDialog } from "../control/FormDialog";
import { useCounts } from "../models/counts";
import { useModels } from "../models/useModels";
import { useSession } from "../session/session";
import { useTransfer } from "./useJobs";

const WORD = "delete";

/** Starts the job that empties the graph, once a word has been written. */
export function DeleteGraph() {
  const { graphId, graphName } = useSession();
  const client = useTransfer();
  const queries = useQueryClient();
  const { index } = useModels();
  const counts = useCounts(index);
  const [written, setWritten] = useState("");
  const twins = counts === null ? "All twins" : `All ${counts.total.toLocaleString()} twins`;
  return (
    <FormDialog
      trigger={
        <Button className="button button-danger data-delete">
          <Trash2 size={15} aria-hidden /> Delete the whole graph
        </Button>
      }
      title={`Delete all of ${graphName}?`}
      submit="Delete all of it"
      danger
      isReady={written.trim().toLowerCase() === WORD}
      onOpen={() => setWritten("")}
      onSubmit={async () => {
        await client.startDeletion();
        await queries.invalidateQueries({ queryKey: ["jobs", graphId] });
      }}
    >
      <p>
        {twins}, their relationships and all {index.interfaces.size.toLocaleString()} models go. A
        job deletes them; it cannot be cancelled, and nothing brings them back but a backup or an
        export. Event routes, workspaces and the kept history stay.
      </p>
      <TextField value={written} onChange={setWritten} autoComplete="off">
        <Label>Write {WORD} to go on</Label>
        <Input spellCheck="false" />
      </TextField>
    </FormDialog>
  );
}
