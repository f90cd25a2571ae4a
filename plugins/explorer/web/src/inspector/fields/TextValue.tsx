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
  const { findings, setUnread } = useEditing();
  const [written, setWritten] = useState({ text: write(value), value });
  if (!isSame(written.value, value)) setWritten({ text: write(value), value });

  const read = (text: string): Json | undefined | typeof NOTHING => {
    if (text === "" && optional && form.parse("") === undefined) return undefined;
    const found = form.parse(text);
    return found === undefined ? NOTHING : found;
  };
  const unread = (value !== undefined || written.text !== "") && read(written.text) === NOTHING;
  useEffect(() => {
    setUnread(pointer, unread);
    return () => setUnread(pointer, false);
  }, [pointer, unread, setUnread]);

  const change = (text: string): void => {
    const found = read(text);
    if (found === NOTHING) {
      setWritten({ text, value });
      return;
    }
    setWritten({ text, value: found });
    onChange(found);
  };
  const told = findings.filter((one) => one.target === pointer);
  return (
    <TextField
      aria-label={label}
      value={written.text}
      onChange={change}
      isInvalid={unread || told.length > 0}
      autoComplete="off"
      className="react-aria-TextField inspector-text"
    >
      {multiline ? (
        <TextArea rows={Math.min(8, written.text.split("\n").length + 1)} spellCheck="false" />
      ) : (
        <Input
          type={form.input === "date" && form.parse(written.text) !== undefined ? "date" : "text"}
          inputMode={form.input === "date" ? "text" : form.input}
          placeholder={value === undefined ? "not set" : ""}
          spellCheck="false"
        />
      )}
      <FieldError>{unread ? `This should be ${form.hint}.` : undefined}</FieldError>
    </TextField>
  );
}
