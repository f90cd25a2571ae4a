import { Trash2 } from "lucide-react";
import { useState } from "react";
import { Button, Input, Label, TextField } from "react-aria-components";

import type { Resource } from "../api/control";
import { FormDialog } from "./FormDialog";
import { useChange } from "./data";
import type { Place } from "./place";

interface Props {
  resource: Resource;
  onGo(place: Place): void;
}

/** Deletes a resource and its data, once its id has been written. */
export function DeleteResource({ resource, onGo }: Props) {
  const [written, setWritten] = useState("");
  const { project_id: projectId, resource_id: id, name } = resource;
  const remove = useChange((control) => control.deleteResource(projectId, id));
  return (
    <FormDialog
      trigger={
        <Button className="button button-danger">
          <Trash2 size={15} aria-hidden />
          Delete
        </Button>
      }
      title={`Delete ${name}?`}
      submit="Delete it and all its data"
      danger
      isReady={written.trim() === id}
      onOpen={() => setWritten("")}
      onSubmit={async () => {
        await remove.mutateAsync(undefined);
        onGo({ type: "project", id: projectId });
      }}
    >
      <p>
        All twins, relationships, models and backups of <code>{id}</code> go with it. This cannot be
        taken back.
      </p>
      <TextField value={written} onChange={setWritten} autoComplete="off">
        {/* The id, as names may hold what no keyboard writes: other blanks, joined emoji. */}
        <Label>Write {id} to go on</Label>
        <Input spellCheck="false" />
      </TextField>
    </FormDialog>
  );
}
