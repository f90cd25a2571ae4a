import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronDown } from "lucide-react";
import { useState } from "react";
import {
  Button,
  ComboBox,
  FieldError,
  Group,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Text,
  TextField,
} from "react-aria-components";
import { useLocation } from "wouter";

import { ApiError } from "../api/errors";
import type { JsonObject } from "../api/types";
import { routeOf } from "../app/addresses";
import { useNotices } from "../app/notices";
import { useSelection } from "../app/selection";
import type { ModelIndex } from "../models/index";
import { useModels } from "../models/useModels";
import { useSession } from "../session/session";
import { buildComponents } from "./components";
import { EditingContext } from "./editing";
import { FormFrame } from "./FormFrame";
import { recordMade } from "./made";
import { Properties } from "./Properties";
import { useForm } from "./useForm";

interface Props {
  /** The model to begin with. */
  model?: string;
  /** What it begins with, as a copy does. */
  contents?: JsonObject;
  onClose(): void;
}

/** A form for a new twin, built from the interface that is chosen. */
export function NewTwin({ model: first = "", contents: copied, onClose }: Props) {
  const { graph, graphId } = useSession();
  const client = useQueryClient();
  const { index } = useModels();
  const { say } = useNotices();
  const select = useSelection((state) => state.select);
  const [model, setModel] = useState(first);
  const [id, setId] = useState("");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({ ...buildComponents(first, index), ...copied });
  const [path, navigate] = useLocation();
  const found = useIsThere(id.trim());
  const taken = id !== "" && (refused === id || found);
  const info = index.interfaces.get(model);

  const create = async (): Promise<void> => {
    const name = id.trim();
    const made = await graph.createTwin(name, { ...form.value, $metadata: { $model: model } });
    void client.invalidateQueries({ queryKey: ["counts", graphId] });
    void client.invalidateQueries({ queryKey: ["twin", graphId, name] });
    const home = routeOf(graphId, "query");
    // Other views have no inspector, which shows what is selected.
    const show = { name: "Show it", act: () => navigate(home) };
    const undo = recordMade({
      graphId,
      text: `${name} created`,
      of: { kind: "twin", id: name },
      undo: () => graph.deleteTwin(name, made.$etag),
    });
    say(`${name} is created.`, path === home ? undo : show);
    select({ kind: "twin", id: name });
  };
  return (
    <FormFrame
      title="New twin"
      submit="Create"
      isWritten={form.isWritten || id !== ""}
      isReady={form.isReady && info !== undefined && id.trim() !== "" && !taken}
      onSubmit={create}
      onError={(error) => {
        form.setError(error);
        setRefused(error instanceof ApiError && error.isConflict ? id : null);
      }}
      onClose={onClose}
    >
      <ModelChoice
        index={index}
        value={model}
        onChange={(chosen) => {
          setModel(chosen);
          form.setError(null);
          const contents = index.interfaces.get(chosen)?.contents;
          // What is no model yet has no members to choose of.
          if (contents !== undefined) form.change(contents, buildComponents(chosen, index), index);
        }}
      />
      <TextField isRequired value={id} onChange={setId} isInvalid={taken} autoComplete="off">
        <Label>Id</Label>
        <Input spellCheck="false" />
        <FieldError>{taken && `There is a twin ${id} already.`}</FieldError>
      </TextField>
      {info !== undefined && (
        <EditingContext value={form.editing}>
          {/* NOTE: fields of another model begin anew, also where they have the same names. */}
          <div key={model} className="inspector-form-fields">
            <Properties contents={info.contents} index={index} />
          </div>
        </EditingContext>
      )}
    </FormFrame>
  );
}

/** Whether there is a twin of this id, as far as one may ask. */
function useIsThere(id: string): boolean {
  const { graph, graphId, may } = useSession();
  const { data } = useQuery({
    queryKey: ["twin-exists", graphId, id],
    queryFn: async ({ signal }) => {
      // By a query, as a twin that is not there would be an error.
      const text = "MATCH (t:Twin) WHERE t.$dtId = $id RETURN t.$dtId AS id";
      return (await graph.query(text, { parameters: { id }, signal })).value.length > 0;
    },
    enabled: id !== "" && may("query/read"),
    staleTime: 0,
  });
  return data ?? false;
}

interface ChoiceProps {
  index: ModelIndex;
  value: string;
  onChange(model: string): void;
}

function ModelChoice({ index, value, onChange }: ChoiceProps) {
  const models = [...index.interfaces.values()]
    .filter((one) => !one.decommissioned)
    .sort((one, other) => one.displayName.localeCompare(other.displayName));
  return (
    <ComboBox
      isRequired
      defaultValue={value === "" ? null : value}
      onChange={(key) => onChange(key === null ? "" : String(key))}
      defaultItems={models}
    >
      <Label>Model</Label>
      <Group>
        <Input spellCheck="false" />
        <Button aria-label="Show models">
          <ChevronDown size={14} aria-hidden />
        </Button>
      </Group>
      <Popover>
        <ListBox<(typeof models)[number]>>
          {(one) => (
            <ListBoxItem id={one.id} textValue={one.displayName}>
              <Text slot="label">{one.displayName}</Text>
              <Text slot="description">{one.id}</Text>
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}
