import { Plus } from "lucide-react";
import { useState } from "react";
import { Button } from "react-aria-components";

import { FormDialog } from "./FormDialog";
import { idOf, isNamed, NameAndId, type Named } from "./NameAndId";
import { useChange } from "./data";
import type { Place } from "./place";

interface Props {
  organizationId: string;
  onGo(place: Place): void;
}

const EMPTY: Named = { name: "", id: null };

/** A form for a project of an organization. */
export function NewProject({ organizationId, onGo }: Props) {
  const [named, setNamed] = useState(EMPTY);
  const create = useChange((control, form: Named) =>
    control.createProject({
      id: idOf(form),
      name: form.name.trim(),
      organization_id: organizationId,
    }),
  );
  return (
    <FormDialog
      trigger={
        <Button className="button button-primary control-actions">
          <Plus size={15} aria-hidden />
          New project
        </Button>
      }
      title="New project"
      submit="Create"
      isReady={isNamed(named)}
      onOpen={() => setNamed(EMPTY)}
      onSubmit={async () => {
        const made = await create.mutateAsync(named);
        onGo({ type: "project", id: made.project_id });
      }}
    >
      <NameAndId value={named} onChange={setNamed} hint="It stays, whatever the name becomes." />
    </FormDialog>
  );
}
