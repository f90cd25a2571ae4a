import { json } from "@codemirror/lang-json";
import { useState } from "react";

import { isSame, parseJson, renderJson } from "../api/json";
import type { JsonObject } from "../api/types";
import { Code } from "../code/Code";
import { isObject } from "../results/documents";
import { useEditing } from "./editing";

const LANGUAGE = json();

interface Props {
  label: string;
  onChange(draft: JsonObject): void;
}

/** The whole that can be edited as JSON, times of change included; edits become a patch too. */
export function JsonTab({ label, onChange }: Props) {
  const { value, readOnly, texts, setText } = useEditing();
  const unread = texts.get("");
  const [written, setWritten] = useState({ text: write(value), value });
  if (!isSame(written.value, value)) setWritten({ text: write(value), value });
  const wrong = unread === undefined ? null : explain(unread.text);
  const change = (text: string): void => {
    const read = readObject(text);
    if (read === null) {
      setText("", text);
      return;
    }
    setWritten({ text, value: read });
    if (unread !== undefined || !isSame(read, value)) onChange(read);
  };
  return (
    <>
      {wrong !== null && (
        <p className="inspector-wrong" role="alert">
          {wrong}
        </p>
      )}
      <Code
        label={`JSON of ${label}`}
        value={unread?.text ?? written.text}
        extensions={LANGUAGE}
        folding
        lines={false}
        className="inspector-json"
        {...(readOnly ? {} : { onChange: change })}
      />
    </>
  );
}

function write(value: JsonObject): string {
  return renderJson(value, 2);
}

function readObject(text: string): JsonObject | null {
  try {
    const read = parseJson(text);
    return isObject(read) ? read : null;
  } catch {
    return null;
  }
}

function explain(text: string): string | null {
  try {
    return isObject(parseJson(text)) ? null : "This should be a JSON object.";
  } catch (error) {
    return `This is no JSON yet: ${(error as Error).message}`;
  }
}
