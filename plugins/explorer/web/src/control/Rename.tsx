import { Pencil } from "lucide-react";
import { useState } from "react";
import { Button, Input, Label, TextField } from "react-aria-components";

import type { Scope } from "../api/control";
import { FormDialog } from "./FormDialog";
import { useChange } from "./data";

interface Props {
  scope: Scope;
  name: string;
}

/** A form for another name of what is at a scope; its id stays. */
export function Rename({ scope, name: current }: Props) {
  const [name, setName] = useState(current);
  const rename = useChange((control, wanted: string) => control.rename(scope, wanted));
  const wanted = name.trim();
  return (
    <FormDialog
      trigger={
        <Button className="button button-quiet button-icon" aria-label={`Rename the ${scope.type}`}>
          <Pencil size={14} aria-hidden />
        </Button>
      }
      title={`Rename the ${scope.type}`}
      submit="Rename"
      isReady={wanted !== "" && wanted !== current}
      onOpen={() => setName(current)}
      onSubmit={() => rename.mutateAsync(wanted)}
    >
      <TextField isRequired value={name} onChange={setName} autoComplete="off">
        <Label>Name</Label>
        <Input />
      </TextField>
    </FormDialog>
  );
}
