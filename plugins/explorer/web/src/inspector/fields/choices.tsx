import { ChevronDown } from "lucide-react";
import {
  Button,
  ListBox,
  ListBoxItem,
  Popover,
  Select,
  SelectValue,
  Switch,
} from "react-aria-components";

import { textOf } from "../../models/index";
import type { EnumValue } from "../../models/schemaText";

interface SwitchProps {
  label: string;
  value: boolean;
  onChange(value: boolean): void;
}

export function BooleanValue({ label, value, onChange }: SwitchProps) {
  return (
    <Switch aria-label={label} isSelected={value} onChange={onChange}>
      <span className="inspector-switch" aria-hidden />
      {String(value)}
    </Switch>
  );
}

interface EnumProps {
  label: string;
  values: EnumValue[];
  value: string | number | undefined;
  isInvalid: boolean;
  onChange(value: string | number): void;
}

/** One of the values of an Enum, by the names that its model gives them. */
export function EnumChoice({ label, values, value, isInvalid, onChange }: EnumProps) {
  const chosen = values.find((one) => one.value === value);
  return (
    <Select
      aria-label={label}
      placeholder="not set"
      isInvalid={isInvalid}
      value={chosen?.name ?? null}
      onChange={(key) => {
        const found = values.find((one) => one.name === key);
        if (found !== undefined) onChange(found.value);
      }}
    >
      <Button>
        <SelectValue />
        <ChevronDown size={14} aria-hidden />
      </Button>
      <Popover>
        <ListBox>
          {values.map((one) => (
            <ListBoxItem key={one.name} id={one.name} textValue={shownName(one)}>
              {/* NOTE: the blank parts them where it is chosen, which has no columns. */}
              {shownName(one)}{" "}
              {String(one.value) !== one.name && <span className="muted">{String(one.value)}</span>}
            </ListBoxItem>
          ))}
        </ListBox>
      </Popover>
    </Select>
  );
}

function shownName({ name, displayName }: EnumValue): string {
  return textOf(displayName, navigator.languages) || name;
}
