import { Check, Plus } from "lucide-react";
import { useState } from "react";
import { Button, Checkbox, Input, Label, NumberField } from "react-aria-components";

import type { Sku } from "../api/control";
import { GRAPH_TYPE } from "../session/graphs";
import { Choice } from "./Choice";
import { FormDialog } from "./FormDialog";
import { idOf, isNamed, NameAndId, type Named } from "./NameAndId";
import { useChange } from "./data";
import type { Place } from "./place";

interface GraphForm extends Named {
  sku: Sku;
  enable_audit_logging: boolean;
  enable_analytics: boolean;
  backup_retention_days: number;
}

const EMPTY: GraphForm = {
  name: "",
  id: null,
  sku: "free",
  enable_audit_logging: false,
  enable_analytics: false,
  backup_retention_days: 7,
};

const SKUS: { id: Sku; name: string; description: string }[] = [
  { id: "free", name: "Free", description: "To try out; with the lowest quotas" },
  { id: "pro", name: "Pro", description: "For one building or campus" },
  { id: "enterprise", name: "Enterprise", description: "Without quotas" },
];

interface Props {
  projectId: string;
  onGo(place: Place): void;
}

/** A form for a graph in a project. */
export function NewGraph({ projectId, onGo }: Props) {
  const [form, setForm] = useState(EMPTY);
  const create = useChange((control, { name, id, sku, ...settings }: GraphForm) =>
    control.createResource(projectId, {
      id: idOf({ name, id }),
      name: name.trim(),
      type: GRAPH_TYPE,
      sku,
      settings_json: settings,
    }),
  );
  return (
    <FormDialog
      trigger={
        <Button className="button button-primary control-actions">
          <Plus size={15} aria-hidden />
          New graph
        </Button>
      }
      title="New graph"
      submit="Create"
      isReady={isNamed(form)}
      onOpen={() => setForm(EMPTY)}
      onSubmit={async () => {
        const made = await create.mutateAsync(form);
        onGo({ type: "resource", projectId, id: made.resource_id });
      }}
    >
      <NameAndId
        value={form}
        onChange={(named) => setForm({ ...form, ...named })}
        hint="It is in the graph's address and cannot be changed."
      />
      <Choice
        label="Sku"
        options={SKUS}
        value={form.sku}
        onChange={(sku) => setForm({ ...form, sku })}
      />
      <NumberField
        value={form.backup_retention_days}
        minValue={0}
        maxValue={3650}
        onChange={(days) => setForm({ ...form, backup_retention_days: days || 0 })}
      >
        <Label>Days that backups are kept; 0 makes none</Label>
        <Input />
      </NumberField>
      <Tick
        label="Keep a log of all changes"
        value={form.enable_audit_logging}
        onChange={(on) => setForm({ ...form, enable_audit_logging: on })}
      />
      <Tick
        label="Count requests for statistics"
        value={form.enable_analytics}
        onChange={(on) => setForm({ ...form, enable_analytics: on })}
      />
    </FormDialog>
  );
}

interface TickProps {
  label: string;
  value: boolean;
  onChange(value: boolean): void;
}

function Tick({ label, value, onChange }: TickProps) {
  return (
    <Checkbox isSelected={value} onChange={onChange}>
      <span className="checkbox-box">
        <Check size={12} aria-hidden />
      </span>
      {label}
    </Checkbox>
  );
}
