import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { FieldError, Input, Label, TextField } from "react-aria-components";

import { ApiError } from "../api/errors";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { useSelection } from "../app/selection";
import { showText } from "../app/showText";
import { Choice } from "../control/Choice";
import type { ContentInfo } from "../models/index";
import { useModels } from "../models/useModels";
import { usePicture } from "../picture/store";
import { useSession } from "../session/session";
import { EditingContext } from "./editing";
import { FormFrame } from "./FormFrame";
import { recordMade } from "./made";
import { Properties } from "./Properties";
import { TwinSearch } from "./TwinSearch";
import { useForm } from "./useForm";

interface Props {
  sourceId: string;
  /** The twin that it was drawn to; without it one is looked for. */
  targetId?: string;
  onClose(): void;
}

/** A new relationship, of the names that the models of its ends allow. */
export function CreateRelationship({ sourceId, targetId, onClose }: Props) {
  const { graph, graphId } = useSession();
  const client = useQueryClient();
  const { index } = useModels();
  const { say } = useNotices();
  const select = useSelection((state) => state.select);
  const source = useModelOf(sourceId);
  const drawn = useModelOf(targetId);
  const [chosen, setChosen] = useState<string | null>(null);
  const [target, setTarget] = useState(targetId ?? "");
  const [written, setWritten] = useState<string | null>(null);
  const [taken, setTaken] = useState<string | null>(null);
  const form = useForm();

  const all = (index.interfaces.get(source.model ?? "")?.contents ?? []).filter(
    (one) => one.kind === "Relationship",
  );
  const allowed =
    targetId === undefined
      ? all
      : index.relationshipsBetween(source.model ?? "", drawn.model ?? "");
  const content = allowed.find((one) => one.name === chosen) ?? allowed[0];
  const name = content?.name ?? "";
  const toItself = target === sourceId;
  const isFull = useIsFull(sourceId, content);
  const id = written ?? (target === "" ? "" : `${name}-${target}`);
  const known = source.model !== undefined && (targetId === undefined || drawn.model !== undefined);
  const error = source.error ?? drawn.error;

  const create = async (): Promise<void> => {
    const document = { ...form.value, $relationshipName: name, $targetId: target };
    const made = await graph.createRelationship(sourceId, id, document);
    const { contents, add } = usePicture.getState();
    if (contents.nodes.has(sourceId) && contents.nodes.has(target)) add([], [made]);
    for (const [kind, twin] of [
      ["relationships", sourceId],
      ["incoming", target],
    ]) {
      void client.invalidateQueries({ queryKey: [kind, graphId, twin] });
    }
    const undo = recordMade({
      graphId,
      text: `${name} from ${sourceId} to ${target} created`,
      of: { kind: "relationship", sourceId, id },
      undo: () => graph.deleteRelationship(sourceId, id, made.$etag),
    });
    say(`${name} leads from ${sourceId} to ${target} now.`, undo);
    select({ kind: "relationship", sourceId, id });
  };
  return (
    <FormFrame
      title={`New relationship of ${sourceId}`}
      submit="Create"
      isWritten={form.isWritten || written !== null || target !== (targetId ?? "")}
      isReady={form.isReady && name !== "" && target !== "" && !toItself && id !== ""}
      onSubmit={create}
      onError={(refused) => {
        form.setError(refused);
        setTaken(refused instanceof ApiError && refused.isConflict ? id : null);
      }}
      onClose={onClose}
    >
      {error !== null && <Failure title="An end of it cannot be read" error={error} />}
      {known && allowed.length === 0 && (
        <p>
          {targetId === undefined
            ? `The model ${index.label(source.model ?? "")} has no relationships.`
            : `The model allows no relationship from ${index.label(source.model ?? "")} to ${index.label(drawn.model ?? "")}.`}
        </p>
      )}
      {allowed.length > 0 && (
        <>
          <Choice
            label="Name"
            options={allowed.map((one) => ({
              id: one.name,
              name: one.name,
              description: `to ${one.target === undefined ? "any twin" : index.label(one.target)}`,
            }))}
            value={name}
            onChange={(one) => {
              setChosen(one);
              form.change(allowed.find(({ name }) => name === one)?.properties ?? [], {}, index);
            }}
          />
          {targetId === undefined ? (
            <TwinSearch
              label="To"
              model={content?.target}
              value={target}
              except={sourceId}
              onChange={setTarget}
            />
          ) : (
            <p>
              To <code>{targetId}</code>
            </p>
          )}
          {toItself && <p className="inspector-wrong">No relationship leads to its own source.</p>}
          {isFull && (
            <p className="inspector-notice inspector-notice-warning" role="status">
              The model allows a twin at most {content?.maxMultiplicity} of the name {name}, and{" "}
              {showText(sourceId)} has as many. The service takes more nevertheless.
            </p>
          )}
          <TextField
            isRequired
            value={id}
            onChange={setWritten}
            isInvalid={id !== "" && taken === id}
            autoComplete="off"
          >
            <Label>Id</Label>
            <Input spellCheck="false" />
            <FieldError>{taken === id && "There is a relationship of this id already."}</FieldError>
          </TextField>
          {(content?.properties?.length ?? 0) > 0 && (
            <EditingContext value={form.editing}>
              <div className="inspector-form-fields">
                <Properties contents={content?.properties ?? []} index={index} />
              </div>
            </EditingContext>
          )}
        </>
      )}
    </FormFrame>
  );
}

/** Whether a twin has as many relationships of a name as its model allows; the service may take more. */
function useIsFull(source: string, content: ContentInfo | undefined): boolean {
  const { graph, graphId } = useSession();
  const name = content?.name ?? "";
  const most = content?.maxMultiplicity;
  const { data = [] } = useQuery({
    queryKey: ["relationships", graphId, source, name],
    queryFn: ({ signal }) => graph.listRelationshipsOf(source, name, most ?? 0, signal),
    enabled: most !== undefined,
    staleTime: 0,
  });
  return most !== undefined && data.length >= most;
}

/** The model of a twin, once it is read. */
function useModelOf(id: string | undefined): { model: string | undefined; error: Error | null } {
  const { graph, graphId } = useSession();
  const { data, error } = useQuery({
    queryKey: ["twin", graphId, id],
    queryFn: ({ signal }) => graph.readTwin(id ?? "", signal),
    enabled: id !== undefined,
  });
  return { model: data?.$metadata.$model, error };
}
