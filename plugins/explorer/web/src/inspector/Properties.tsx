import { Undo2, X } from "lucide-react";
import { Button } from "react-aria-components";

import { isSame } from "../api/json";
import type { Json, JsonObject } from "../api/types";
import type { ContentInfo, ModelIndex } from "../models/index";
import { describeSchema } from "../models/schemaText";
import { isObject } from "../results/documents";
import { showText } from "../app/showText";
import { isWithin, pointerOf, readAt } from "./document";
import { useEditing } from "./editing";
import { Field } from "./fields/Field";
import { Moment } from "./Moment";
import { readSchema, type FieldSchema } from "./schema";

interface Props {
  /** The contents that say what there is to be. */
  contents: readonly ContentInfo[];
  /** Where they stand in the document: empty, or the pointer of a component. */
  within?: string;
  index: ModelIndex;
}

/** Properties by the model, unset ones too; members that it does not know; components as groups. */
export function Properties({ contents, within = "", index }: Props) {
  const { value } = useEditing();
  const here = within === "" ? value : readAt(value, within);
  const members = isObject(here) ? here : {};
  const known = new Set(contents.map((one) => one.name));
  const unknown = Object.keys(members).filter((name) => !name.startsWith("$") && !known.has(name));
  const inOrder = baseFirst(contents);
  const properties = inOrder.filter((one) => one.kind === "Property");
  const components = inOrder.filter((one) => one.kind === "Component");
  return (
    <>
      {properties.map((one) => (
        <PropertyRow key={one.name} content={one} within={within} />
      ))}
      {unknown.map((name) => (
        <PropertyRow key={name} content={{ name }} within={within} />
      ))}
      {properties.length + unknown.length + components.length === 0 && (
        <p className="inspector-none muted">No properties.</p>
      )}
      {components.map((one) => (
        <ComponentGroup key={one.name} content={one} within={within} index={index} />
      ))}
    </>
  );
}

/** What all kinds of a thing have, such as its name, before what is special about this one. */
function baseFirst(contents: readonly ContentInfo[]): ContentInfo[] {
  const origins = [...new Set(contents.map((one) => one.definedBy))].reverse();
  return origins.flatMap((origin) => contents.filter((one) => one.definedBy === origin));
}

function ComponentGroup(props: { content: ContentInfo; within: string; index: ModelIndex }) {
  const { content, within, index } = props;
  const model = typeof content.schema === "string" ? content.schema : "";
  return (
    <section className="inspector-component" aria-label={`Component ${content.name}`}>
      <h3 title={content.description}>
        {content.name} <span className="muted">{index.label(model)}</span>
      </h3>
      <Properties
        contents={index.interfaces.get(model)?.contents ?? []}
        within={within + pointerOf(content.name)}
        index={index}
      />
    </section>
  );
}

const JSON_SCHEMA: FieldSchema = { kind: "json" };

interface RowProps {
  /** A name alone is a member that the model does not know. */
  content: ContentInfo | { name: string };
  within: string;
}

function PropertyRow({ content, within }: RowProps) {
  const { value, stored, readOnly, lit, texts, set, forgetTexts } = useEditing();
  const known = "kind" in content ? content : null;
  const pointer = within + pointerOf(content.name);
  const current = readAt(value, pointer);
  const before = readAt(stored, pointer);
  const isWritten = [...texts.keys()].some((one) => isWithin(one, pointer));
  const changed = isWritten || !isSame(current, before);
  const put = (one: Json | undefined): void => {
    forgetTexts(pointer);
    set(pointer, one);
  };
  const isLit =
    lit !== undefined &&
    (lit.size === 0 || [...lit].some((one) => isWithin(one, pointer) || isWithin(pointer, one)));
  return (
    <div
      className="inspector-row"
      role="group"
      aria-label={content.name}
      data-changed={changed || undefined}
      data-unset={current === undefined || undefined}
    >
      <div className="inspector-name">
        <span title={known === null ? "The model does not know it." : describe(known)}>
          {showText(content.name)}
        </span>
        <span className="inspector-sub">
          {known?.unit !== undefined && <span>{known.unit}</span>}
          <Times within={within} name={content.name} />
        </span>
      </div>
      <div className="inspector-at">
        {/* NOTE: a key of its own for each change has it light up anew; the field stays as it is. */}
        {isLit && (
          <span key={timeOf(value, within, content.name)} className="inspector-glow live-lit" />
        )}
        <Field
          schema={known === null ? JSON_SCHEMA : readSchema(known.schema)}
          label={content.name}
          pointer={pointer}
          value={current}
          optional
          onChange={(one) => set(pointer, one)}
        />
      </div>
      {!readOnly && (
        <div className="inspector-row-actions">
          {changed ? (
            <Button
              className="button button-quiet button-icon button-small"
              aria-label={`Undo the change of ${content.name}`}
              onPress={() => put(before)}
            >
              <Undo2 size={13} aria-hidden />
            </Button>
          ) : (
            current !== undefined && (
              <Button
                className="button button-quiet button-icon button-small inspector-unset"
                aria-label={`Unset ${content.name}`}
                onPress={() => put(undefined)}
              >
                <X size={13} aria-hidden />
              </Button>
            )
          )}
        </div>
      )}
    </div>
  );
}

function describe(content: ContentInfo): string {
  const lines = [
    content.displayName,
    describeSchema(content.schema, true),
    content.semanticType?.join(", "),
    content.description,
    content.comment,
    `from ${content.definedBy}`,
  ];
  return lines.filter((one) => one !== undefined && one !== "").join("\n");
}

/** When the value was written, and when it was measured, as `$metadata` says. */
function Times({ within, name }: { within: string; name: string }) {
  const { value } = useEditing();
  const times = readAt(value, within + pointerOf("$metadata", name));
  if (!isObject(times)) return null;
  return (
    <>
      <Time title="Written" value={times["lastUpdateTime"]} />
      <Time title="Measured" value={times["sourceTime"]} />
    </>
  );
}

function timeOf(value: JsonObject, within: string, name: string): string {
  return String(readAt(value, within + pointerOf("$metadata", name, "lastUpdateTime")));
}

function Time({ title, value }: { title: string; value: Json | undefined }) {
  return typeof value === "string" ? <Moment title={title} value={value} /> : null;
}
