import { Plus, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Button, Input, TextField } from "react-aria-components";

import { parseJson, renderJson } from "../../api/json";
import type { Json, JsonObject } from "../../api/types";
import { pointerOf } from "../document";
import { useEditing } from "../editing";
import { firstValue, fits, writeText, type FieldSchema, type TextForm } from "../schema";
import { showText } from "../../app/showText";
import { SparkOf } from "../../time/Spark";
import { BooleanValue, EnumChoice } from "./choices";
import { TextValue } from "./TextValue";

interface Props {
  schema: FieldSchema;
  /** What it is, for screen readers. */
  label: string;
  pointer: string;
  value: Json | undefined;
  /** Whether it may be left out. */
  optional?: boolean;
  onChange(value: Json | undefined): void;
}

/** The field of a value by its schema, with what the service found wrong with it. */
export function Field(props: Props) {
  const { findings, readOnly } = useEditing();
  const told = findings.filter((one) => one.target === props.pointer);
  return (
    <div className="inspector-field">
      {readOnly ? <Shown value={props.value} /> : <Editable {...props} />}
      {isNumber(props.value, readOnly) && <SparkOf path={props.pointer.slice(1)} />}
      {told.map((one) => (
        <p key={one.message} className="inspector-wrong" role="alert">
          {one.message}
        </p>
      ))}
    </div>
  );
}

/** Fields of an object have their own lines; where it is shown as a whole, it has theirs. */
function isNumber(value: Json | undefined, isWhole: boolean): boolean {
  return ["number", "bigint", ...(isWhole ? ["object"] : [])].includes(typeof value);
}

function Editable(props: Props) {
  const { schema, label, pointer, value, optional = false, onChange } = props;
  const { findings } = useEditing();
  const isInvalid = findings.some((one) => one.target === pointer);
  // An empty text is a value that is still to be written.
  const unwritten = schema.kind === "text" && value === "";
  if (value !== undefined && !unwritten && !fits(schema, value)) return <JsonValue {...props} />;
  switch (schema.kind) {
    case "boolean":
      if (value === undefined) return <SetButton {...props} />;
      return <BooleanValue label={label} value={value === true} onChange={onChange} />;
    case "enum":
      return (
        <EnumChoice
          label={label}
          values={schema.values}
          value={typeof value === "string" || typeof value === "number" ? value : undefined}
          isInvalid={isInvalid}
          onChange={onChange}
        />
      );
    case "text":
      return (
        <TextValue
          {...{ label, pointer, value, optional, onChange }}
          form={schema.form}
          multiline={schema.type === "string"}
        />
      );
    case "object":
      if (value === undefined) return <SetButton {...props} />;
      return <ObjectValue fields={schema.fields} value={value as JsonObject} {...shared(props)} />;
    case "array":
      if (value === undefined) return <SetButton {...props} />;
      return <ArrayValue element={schema.element} value={value as Json[]} {...shared(props)} />;
    case "map":
      if (value === undefined) return <SetButton {...props} />;
      return <MapValue inner={schema.value} value={value as JsonObject} {...shared(props)} />;
    case "json":
      return <JsonValue {...props} />;
  }
}

function shared({ label, pointer, onChange }: Props) {
  return { label, pointer, onChange };
}

function SetButton({ schema, label, onChange }: Props) {
  return (
    <Button
      className="button button-quiet button-small inspector-set"
      aria-label={`Set ${label}`}
      onPress={({ target }) => {
        focusLater(target.closest(".inspector-field"));
        onChange(firstValue(schema));
      }}
    >
      <Plus size={13} aria-hidden /> Set
    </Button>
  );
}

/** Focuses the first field of a place once it is drawn anew, as the button that did it is gone. */
function focusLater(place: Element | null): void {
  requestAnimationFrame(() => {
    place?.querySelector<HTMLElement>("input, textarea, button")?.focus();
  });
}

interface NestedProps<T> {
  label: string;
  pointer: string;
  value: T;
  onChange(value: T): void;
}

function ObjectValue(
  props: NestedProps<JsonObject> & { fields: { name: string; schema: FieldSchema }[] },
) {
  const { fields, label, pointer, value, onChange } = props;
  const known = new Set(fields.map((one) => one.name));
  const others = Object.keys(value).filter((name) => !known.has(name));
  const all = [...fields, ...others.map((name) => ({ name, schema: JSON_SCHEMA }))];
  return (
    <Nested>
      {all.map(({ name, schema }) => (
        <Member
          key={name}
          name={name}
          title={`${label} ${name}`}
          pointer={pointer + pointerOf(name)}
          {...(Object.hasOwn(value, name)
            ? { onRemove: () => onChange(without(value, name)) }
            : {})}
        >
          <Field
            schema={schema}
            label={`${label} ${name}`}
            pointer={pointer + pointerOf(name)}
            value={Object.hasOwn(value, name) ? value[name] : undefined}
            optional
            onChange={(one) =>
              onChange(one === undefined ? without(value, name) : { ...value, [name]: one })
            }
          />
        </Member>
      ))}
    </Nested>
  );
}

function ArrayValue(props: NestedProps<Json[]> & { element: FieldSchema }) {
  const { element, label, pointer, value, onChange } = props;
  return (
    <Nested>
      {value.map((one, at) => (
        <Member
          // Elements have no other identity than their place.
          key={at}
          name={String(at + 1)}
          title={`${label} ${at + 1}`}
          // Those behind it move up.
          pointer={pointer}
          onRemove={() => onChange(value.toSpliced(at, 1))}
        >
          <Field
            schema={element}
            label={`${label} ${at + 1}`}
            pointer={`${pointer}/${at}`}
            value={one}
            onChange={(changed) => onChange(value.with(at, changed ?? null))}
          />
        </Member>
      ))}
      <Button
        className="button button-quiet button-small inspector-set"
        aria-label={`Add to ${label}`}
        onPress={() => onChange([...value, firstValue(element) ?? ""])}
      >
        <Plus size={13} aria-hidden /> Add
      </Button>
    </Nested>
  );
}

function MapValue(props: NestedProps<JsonObject> & { inner: FieldSchema }) {
  const { inner, label, pointer, value, onChange } = props;
  const [key, setKey] = useState("");
  const taken = Object.hasOwn(value, key);
  const add = (): void => {
    if (key === "" || taken) return;
    onChange({ ...value, [key]: firstValue(inner) ?? "" });
    setKey("");
  };
  return (
    <Nested>
      {Object.entries(value).map(([name, one]) => (
        <Member
          key={name}
          name={name}
          title={`${label} ${name}`}
          pointer={pointer + pointerOf(name)}
          onRemove={() => onChange(without(value, name))}
        >
          <Field
            schema={inner}
            label={`${label} ${name}`}
            pointer={pointer + pointerOf(name)}
            value={one}
            onChange={(changed) => onChange({ ...value, [name]: changed ?? null })}
          />
        </Member>
      ))}
      <div className="inspector-add">
        <TextField
          aria-label={`New key of ${label}`}
          value={key}
          onChange={setKey}
          isInvalid={taken}
          autoComplete="off"
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            add();
          }}
        >
          <Input placeholder="New key" spellCheck="false" />
        </TextField>
        <Button
          className="button button-quiet button-small"
          aria-label={`Add to ${label}`}
          isDisabled={key === "" || taken}
          onPress={({ target }) => {
            // Without a key there is nothing to press, and a button that is disabled keeps no focus.
            target.closest(".inspector-add")?.querySelector("input")?.focus();
            add();
          }}
        >
          <Plus size={13} aria-hidden /> Add
        </Button>
      </div>
      {taken && <p className="inspector-wrong">There is a value of this key already.</p>}
    </Nested>
  );
}

function without(value: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([one]) => one !== name));
}

function Nested({ children }: { children: ReactNode }) {
  return <div className="inspector-nested">{children}</div>;
}

interface MemberProps {
  name: string;
  title: string;
  /** Where what is written and no value yet goes with it. */
  pointer: string;
  onRemove?: () => void;
  children: ReactNode;
}

function Member({ name, title, pointer, onRemove, children }: MemberProps) {
  const { forgetTexts } = useEditing();
  return (
    <div className="inspector-member">
      <span className="inspector-key">{showText(name)}</span>
      {children}
      {onRemove !== undefined && (
        <Button
          className="button button-quiet button-icon button-small"
          aria-label={`Remove ${title}`}
          onPress={({ target }) => {
            focusLater(target.closest(".inspector-nested"));
            forgetTexts(pointer);
            onRemove();
          }}
        >
          <X size={13} aria-hidden />
        </Button>
      )}
    </div>
  );
}

const JSON_SCHEMA: FieldSchema = { kind: "json" };
const JSON_FORM: TextForm = {
  hint: "JSON",
  input: "text",
  parse: (text) => {
    try {
      return parseJson(text);
    } catch {
      return undefined;
    }
  },
};

/** A value without a field of its own, as its JSON. */
function JsonValue({ label, pointer, value, optional = false, onChange }: Props) {
  return (
    <TextValue
      label={`${label} as JSON`}
      {...{ pointer, value, optional, onChange }}
      form={JSON_FORM}
      write={writeJson}
      multiline
    />
  );
}

function writeJson(value: Json | undefined): string {
  return value === undefined ? "" : renderJson(value, 1);
}

/** A value that may only be read. */
function Shown({ value }: { value: Json | undefined }) {
  if (value === undefined) return <span className="muted">not set</span>;
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value);
    if (entries.length === 0) return <span className="muted">empty</span>;
    return (
      <Nested>
        {entries.map(([name, one]) => (
          <div key={name} className="inspector-member">
            <span className="inspector-key">{Array.isArray(value) ? Number(name) + 1 : name}</span>
            <Shown value={one} />
          </div>
        ))}
      </Nested>
    );
  }
  return <span className="inspector-value">{showText(writeText(value))}</span>;
}
