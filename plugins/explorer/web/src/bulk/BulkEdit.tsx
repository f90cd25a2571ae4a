import { useQuery } from "@tanstack/react-query";
import { Check, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import { Button, Checkbox } from "react-aria-components";

import { ApiError } from "../api/errors";
import { renderJson } from "../api/json";
import type { Json, Twin } from "../api/types";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { queryClient } from "../app/queryClient";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { FormFrame } from "../inspector/FormFrame";
import { recordMade } from "../inspector/made";
import { useModels } from "../models/useModels";
import { readTwins } from "../picture/ask";
import { labelOf } from "../picture/model";
import "../picture/picture.css";
import { Choice, TextChoice } from "../picture/StyleOf";
import { useSession } from "../session/session";
import "./bulk.css";
import {
  findChanged,
  listBulkProperties,
  MOST_AT_ONCE,
  planBulk,
  renderBulk,
  undoBulk,
  type BulkProperty,
  type Step,
} from "./plan";
import { useBulk } from "./store";

/** The statement that deletes twins reads them, too. */
const MAY_DELETE = [
  "query/read",
  "query/write",
  "digitaltwins/delete",
  "digitaltwins/relationships/delete",
];
/** PERF: a dialog draws some hundred lines at once. */
const MOST_SHOWN = 300;

/** Sets one property of several twins, all or none, after it has shown what changes. */
export default function BulkEdit({ ids, onClose }: { ids: readonly string[]; onClose(): void }) {
  const { graph, graphId, may } = useSession();
  const { index } = useModels();
  const { data, error, refetch } = useQuery({
    queryKey: ["bulk", graphId, ids],
    queryFn: ({ signal }) => readTwins(graph, ids, signal),
    staleTime: 0,
    gcTime: 0,
  });
  const twins = useMemo(() => data ?? [], [data]);
  const properties = useMemo(
    () => listBulkProperties(index, new Set(twins.map((one) => one.$metadata.$model))),
    [index, twins],
  );
  const [at, setAt] = useState(0);
  const property = properties[at];
  const [text, setText] = useState("");
  const [removes, setRemoves] = useState(false);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [failed, setFailed] = useState<ReadonlyMap<string, string>>(new Map());
  const value = removes || property === undefined ? undefined : parseValue(property, text);
  const isValue = property !== undefined && (removes || value !== undefined);
  const steps = useMemo(
    () => (isValue ? planBulk(twins, property, value) : []),
    [isValue, twins, property, value],
  );
  const chosen = steps.filter(({ twin }) => !left.has(twin.$dtId));
  const changing = chosen.filter((one) => one.reason === null);
  const leave = (id: string): void => {
    const next = new Set(left);
    if (!next.delete(id)) next.add(id);
    setLeft(next);
  };
  const write = async (): Promise<void> => {
    if (property === undefined) return;
    setFailed(new Map());
    await graph.transact(renderBulk(chosen));
    const before = new Map(changing.map((one) => [one.twin.$dtId, one.before]));
    const done = `${property.path} of ${changing.length.toLocaleString()} ${changing.length === 1 ? "twin" : "twins"}`;
    const undo = recordMade({
      graphId,
      text: `${done} ${value === undefined ? "taken away" : `set to ${tell(value)}`}`,
      of: { kind: "twin", id: changing[0]?.twin.$dtId ?? "" },
      undo: async () => {
        const now = await readTwins(graph, [...before.keys()]);
        await graph.transact(undoBulk(now, property.path, value, before));
      },
    });
    void queryClient.invalidateQueries({ queryKey: ["twin", graphId] });
    useNotices.getState().say(`${done} ${changing.length === 1 ? "is" : "are"} set.`, undo);
  };
  const onError = async (refused: unknown): Promise<void> => {
    setFailed(readFailures(refused, changing));
    if (!(refused instanceof ApiError) || !refused.isConflict) return;
    // The service names the first; what was shown is not what there is any more of others, too.
    const { data: newest } = await refetch();
    if (newest !== undefined)
      setFailed(new Map(findChanged(changing, newest).map((id) => [id, CHANGED])));
  };
  return (
    <FormFrame
      title={`Set a property of ${ids.length.toLocaleString()} twins`}
      submit={`Set it of ${changing.length.toLocaleString()} ${changing.length === 1 ? "twin" : "twins"}`}
      isWritten={text !== "" || removes}
      isReady={changing.length > 0 && changing.length <= MOST_AT_ONCE}
      onSubmit={write}
      onError={(refused) => void onError(refused)}
      onClose={onClose}
    >
      {MAY_DELETE.every(may) && (
        <Button className="button button-small" onPress={() => useBulk.setState({ deletes: true })}>
          <Trash2 size={13} aria-hidden /> Delete them instead…
        </Button>
      )}
      {error !== null && (
        <Failure title="The twins cannot be read" error={error} onRetry={() => void refetch()} />
      )}
      {data === undefined && error === null && <Waiting label="Reading the twins" />}
      {data !== undefined && property === undefined && (
        <p>The models of these twins have no property with one value.</p>
      )}
      {property !== undefined && (
        <>
          <Choice
            label="Property"
            value={String(at)}
            options={properties.map((one, place) => [
              String(place),
              `${one.path}${one.schema.kind === "text" ? ` (${one.schema.type})` : ""}`,
            ])}
            onChange={(next) => {
              setAt(Number(next));
              setText("");
            }}
          />
          {!removes && <ValueField property={property} text={text} onChange={setText} />}
          <Checkbox isSelected={removes} onChange={setRemoves}>
            <span className="checkbox-box">
              <Check size={12} strokeWidth={3} aria-hidden />
            </span>
            Take the value away
          </Checkbox>
          <p role="status">{tellPlan(steps, changing.length, data?.length ?? 0, ids.length)}</p>
          <Rehearsal steps={steps} value={value} left={left} failed={failed} onLeave={leave} />
        </>
      )}
    </FormFrame>
  );
}

interface ValueProps {
  property: BulkProperty;
  text: string;
  onChange(text: string): void;
}

function ValueField({ property, text, onChange }: ValueProps) {
  const { schema } = property;
  if (schema.kind === "text") {
    const wrong = text !== "" && parseValue(property, text) === undefined;
    return (
      <>
        <TextChoice label="Value" value={text} onChange={onChange} />
        {wrong && <p className="bulk-wrong">It has to be {schema.form.hint}.</p>}
      </>
    );
  }
  const values =
    schema.kind === "enum"
      ? schema.values.map((one) => [renderJson(one.value), one.name] as const)
      : (["true", "false"] as const).map((one) => [one, one] as const);
  return (
    <Choice label="Value" value={text} options={[["", "Choose"], ...values]} onChange={onChange} />
  );
}

/** The value that is written; undefined where it is none of the property. */
function parseValue({ schema }: BulkProperty, text: string): Json | undefined {
  if (text === "") return undefined;
  if (schema.kind === "text") return schema.form.parse(text);
  if (schema.kind === "boolean") return text === "true";
  if (schema.kind !== "enum") return undefined;
  return schema.values.find((one) => renderJson(one.value) === text)?.value;
}

interface RehearsalProps {
  steps: readonly Step[];
  value: Json | undefined;
  left: ReadonlySet<string>;
  failed: ReadonlyMap<string, string>;
  onLeave(id: string): void;
}

/** What becomes of each twin; one that is unticked stays as it is. */
function Rehearsal({ steps, value, left, failed, onLeave }: RehearsalProps) {
  if (steps.length === 0) return null;
  // What failed and what changes comes first.
  const rank = (one: Step): number =>
    failed.has(one.twin.$dtId) ? 0 : one.reason === null ? 1 : 2;
  const sorted = [...steps].sort((one, other) => rank(one) - rank(other));
  return (
    <ul className="bulk-steps" aria-label="What changes">
      {sorted.slice(0, MOST_SHOWN).map(({ twin, before, reason }) => {
        const id = twin.$dtId;
        const error = failed.get(id);
        return (
          <li key={id}>
            <Checkbox
              isSelected={reason === null && !left.has(id)}
              isDisabled={reason !== null}
              onChange={() => onLeave(id)}
            >
              <span className="checkbox-box">
                <Check size={12} strokeWidth={3} aria-hidden />
              </span>
              <span className="bulk-name">{nameOf(twin)}</span>
              <span className={reason === null ? "bulk-change" : "muted"}>
                {reason ?? `${tell(before)} → ${tell(value)}`}
              </span>
            </Checkbox>
            {error !== undefined && <p className="bulk-wrong">{showText(error)}</p>}
          </li>
        );
      })}
      {steps.length > MOST_SHOWN && (
        <li className="muted">and {(steps.length - MOST_SHOWN).toLocaleString()} more</li>
      )}
    </ul>
  );
}

function nameOf(twin: Twin): string {
  const label = labelOf(twin.$dtId, twin);
  return showText(label === twin.$dtId ? label : `${label} (${twin.$dtId})`);
}

function tell(value: Json | undefined): string {
  return value === undefined ? "not set" : showText(renderJson(value));
}

function tellPlan(steps: readonly Step[], changing: number, found: number, asked: number): string {
  const gone = asked > found ? ` ${(asked - found).toLocaleString()} are gone from the graph.` : "";
  if (steps.length === 0) return `Write a value to see what changes.${gone}`;
  const most = MOST_AT_ONCE.toLocaleString();
  if (changing > MOST_AT_ONCE) return `At most ${most} twins can be set at once: leave some out.`;
  const stay = steps.length - changing;
  return (
    `${changing.toLocaleString()} change, ${stay.toLocaleString()} stay as they are. All of them ` +
    `are set, or none.${gone}`
  );
}

const CHANGED = "was changed meanwhile: it is shown as it is now";

/** What the service says of single twins: the operation that it refused is the one it names. */
function readFailures(error: unknown, sent: readonly Step[]): ReadonlyMap<string, string> {
  if (!(error instanceof ApiError)) return new Map();
  const named = /^Operation (\d+) \(/.exec(error.message)?.[1];
  const step = named === undefined ? undefined : sent[Number(named)];
  if (step === undefined) return new Map();
  return new Map([[step.twin.$dtId, error.isConflict ? CHANGED : error.message]]);
}
