import { FieldError, Input, Label, Text, TextField } from "react-aria-components";

import { suggestId } from "./place";

const ID = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export interface Named {
  name: string;
  /** Null as long as it follows the name. */
  id: string | null;
}

/** The id that is meant: as written, or made of the name. */
export function idOf({ name, id }: Named): string {
  return id ?? suggestId(name);
}

export function isNamed(named: Named): boolean {
  return named.name.trim() !== "" && ID.test(idOf(named));
}

interface Props {
  value: Named;
  onChange(value: Named): void;
  /** What the id is good for. */
  hint: string;
}

/** A name for people and an id for addresses, made of the name until somebody writes another. */
export function NameAndId({ value, onChange, hint }: Props) {
  const id = idOf(value);
  const wrong = id !== "" && !ID.test(id);
  return (
    <>
      <TextField
        isRequired
        value={value.name}
        onChange={(name) => onChange({ ...value, name })}
        autoComplete="off"
      >
        <Label>Name</Label>
        <Input />
      </TextField>
      <TextField
        isRequired
        value={id}
        isInvalid={wrong}
        onChange={(text) => onChange({ ...value, id: text })}
        autoComplete="off"
      >
        <Label>Id</Label>
        <Input spellCheck="false" />
        <Text slot="description">{hint}</Text>
        <FieldError>
          {wrong &&
            "An id is made of lower-case letters, digits and hyphens, begins and ends with a " +
              "letter or digit, and is at most 63 long."}
        </FieldError>
      </TextField>
    </>
  );
}
