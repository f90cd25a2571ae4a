import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Button, Input, Label, Text, TextArea, TextField } from "react-aria-components";

import type { Endpoint, EventRoute, FilterTrial } from "../api/transfer";
import { showText } from "../app/showText";
import { Choice } from "../control/Choice";
import { FormDialog } from "../control/FormDialog";
import { useSession } from "../session/session";
import { EXAMPLES, parseFilterProblem } from "./filters";
import { useTransfer } from "./useJobs";

interface Props {
  trigger: ReactNode;
  endpoints: readonly Endpoint[];
  /** The route to change; a new one without it. */
  route?: EventRoute;
}

/** Creates a route, or changes where it leads and what passes it. */
export function RouteForm({ trigger, endpoints, route }: Props) {
  const { graphId } = useSession();
  const client = useTransfer();
  const queries = useQueryClient();
  const begin: EventRoute = route ?? {
    id: "",
    endpointName: endpoints[0]?.name ?? "",
    filter: "true",
  };
  const [own, setOwn] = useState(begin);
  const change = (part: Partial<EventRoute>): void => setOwn({ ...own, ...part });
  return (
    <FormDialog
      trigger={trigger}
      title={route === undefined ? "New event route" : `Event route ${route.id}`}
      submit={route === undefined ? "Create" : "Save"}
      isReady={own.id.trim() !== "" && own.endpointName !== "" && own.filter.trim() !== ""}
      onOpen={() => setOwn(begin)}
      onSubmit={async () => {
        await client.putRoute({ ...own, id: own.id.trim() }, route === undefined);
        await queries.invalidateQueries({ queryKey: ["eventroutes", graphId] });
      }}
    >
      {route === undefined && (
        <TextField value={own.id} onChange={(id) => change({ id })} autoComplete="off">
          <Label>Id</Label>
          <Input spellCheck="false" />
        </TextField>
      )}
      <Choice
        label="Endpoint"
        options={endpoints.map(({ name, type, form }) => ({
          id: name,
          name,
          description: form === "cloudevents" ? type : `${type}, in the form of data history`,
        }))}
        value={own.endpointName}
        onChange={(endpointName) => change({ endpointName })}
      />
      <FilterField filter={own.filter} onChange={(filter) => change({ filter })} />
    </FormDialog>
  );
}

/** The filter, with examples, and a check against the last events. */
function FilterField({ filter, onChange }: { filter: string; onChange(filter: string): void }) {
  const client = useTransfer();
  const [checked, setChecked] = useState<{ filter: string; told: ReactNode } | null>(null);
  const check = (): void => {
    client.tryFilter(filter).then(
      (trial) => setChecked({ filter, told: <Trial trial={trial} /> }),
      (error: Error) =>
        setChecked({ filter, told: <Problem filter={filter} text={error.message} /> }),
    );
  };
  return (
    <div className="data-filter">
      <TextField value={filter} onChange={onChange}>
        <Label>Filter</Label>
        <TextArea rows={3} spellCheck="false" />
        <Text slot="description">
          Which events are sent: by attributes of the event, and by its data behind{" "}
          <code>$body.</code>
        </Text>
      </TextField>
      <Choice
        label="Example"
        options={[
          { id: "", name: "Take an example" },
          ...EXAMPLES.map((one) => ({ id: one.filter, name: one.filter, description: one.passes })),
        ]}
        value={EXAMPLES.some((one) => one.filter === filter) ? filter : ""}
        onChange={(taken) => taken !== "" && onChange(taken)}
      />
      <div>
        <Button className="button button-small" onPress={check}>
          Check the filter
        </Button>
      </div>
      <div role="status">{checked?.filter === filter && checked.told}</div>
    </div>
  );
}

function Problem({ filter, text }: { filter: string; text: string }) {
  const problem = parseFilterProblem(text);
  if (problem === null) return <p className="data-error">{showText(text)}</p>;
  const line = filter.split("\n")[problem.line - 1] ?? "";
  return (
    <>
      <p className="data-error">
        Line {problem.line}, character {problem.position + 1}: {showText(problem.message)}
      </p>
      <pre className="data-marked">
        {line.slice(0, problem.position)}
        <mark>{line.slice(problem.position) || " "}</mark>
      </pre>
    </>
  );
}

function Trial({ trial }: { trial: FilterTrial }) {
  const { examined, value } = trial;
  const last = value.length === 5 ? "the last 5 are" : "these pass";
  return (
    <>
      <p>
        The filter is valid. Of the last {examined.toLocaleString()} events{" "}
        {value.length === 0 ? "none would have passed." : `${last}:`}
      </p>
      <ul>
        {value.map(({ position, event }) => (
          <li key={position}>
            <code>{String(event["type"])}</code> {showText(String(event["subject"] ?? ""))}
          </li>
        ))}
      </ul>
    </>
  );
}
