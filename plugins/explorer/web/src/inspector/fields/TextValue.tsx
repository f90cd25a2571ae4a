import { useEffect, useState } from "react";
import { FieldError, Input, TextArea, TextField } from "react-aria-components";

import { isSame } from "../../api/json";
import type { Json } from "../../api/types";
import { useEditing } from "../editing";
import { writeText, type TextForm } from "../schema";

interface Props {
  label: string;
  pointer: string;
  form: TextForm;
  value: Json | undefined;
  /** Whether an empty text is no value rather than a wrong one. */
  optional: boolean;
  /** Whether a text may have several lines. It stays so: another element would lose the focus. */
  multiline?: boolean;
  /** The text of a value. */
  write?: (value: Json | undefined) => string;
  onChange(value: Json | undefined): void;
}

const NOTHING = Symbol();

/** A value that is written as text. What is no value of its schema stays here, and is told. */
export function TextValue(props: Props) {
  const {
    label,
    pointer,
    form,
    value,
    optional,
    multiline = false,
    onChange,
    write = writeText,
  } = props;
  const { findings, texts, setText, setUnread } = useEditing();
  const [written, setWritten] = useState({ text: write(value), value });
  if (!isSame(written.value, value)) setWritten({ text: write(value), value });

  const read = (text: string): Json | undefined | typeof NOTHING => {
    if (text === "" && optional && form.parse("") === undefined) return undefined;
    const found = form.parse(text);
    return found === undefined ? NOTHING : found;
  };
  const kept = texts.get(pointer);
  const text = kept?.text ?? written.text;
  const wrong = kept === undefined && value !== undefined && read(text) === NOTHING;
  const unread = kept !== undefined || wrong;
  useEffect(() => {
    setUnread(pointer, wrong);
    return () => setUnread(pointer, false);
  }, [pointer, wrong, setUnread]);

  const change = (text: string): void => {
    const found = read(text);
    if (found === NOTHING) {
      setText(pointer, text === "" && value === undefined ? null : text);
      return;
    }
    setWritten({ text, value: found });
    onChange(found);
    if (kept !== undefined) setText(pointer, null);
  };
  const told = findings.filter((one) => one.target === pointer);
  const placeholder = form.example === undefined ? "not set" : `such as ${form.example}`;
  return (
    <TextField
      aria-label={label}
      value={text}
      onChange={change}
      isInvalid={unread || told.length > 0}
      autoComplete="off"
      className={`react-aria-TextField ${write === writeText ? "inspector-prose" : ""}`}
    >
      {multiline ? (
        <TextArea
          rows={countRows(text)}
          placeholder={value === undefined ? placeholder : ""}
          spellCheck="false"
        />
      ) : (
        <Input
          inputMode={form.input}
          placeholder={value === undefined ? placeholder : ""}
          spellCheck="false"
        />
      )}
      <FieldError>{unread ? `This should be ${form.hint}.` : undefined}</FieldError>
    </TextField>
  );
}

const MOST_ROWS = 8;
/** About as many letters as stand in a line of the inspector. */
const LINE = 30;

/** How many rows a text asks for, where the browser does not measure it by itself. */
function countRows(text: string): number {
  const rows = text.split("\n").map((line) => Math.max(1, Math.ceil(line.length / LINE)));
  return Math.min(
    MOST_ROWS,
    rows.reduce((one, other) => one + other, 0),
  );
}
