import { ChevronDown } from "lucide-react";
import {
  Button,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Select,
  SelectValue,
  Text,
} from "react-aria-components";

interface Props<K extends string> {
  label: string;
  options: { id: K; name: string; description?: string }[];
  value: K;
  onChange(value: K): void;
}

/** One of a few, each with a word on what it means. */
export function Choice<K extends string>({ label, options, value, onChange }: Props<K>) {
  return (
    <Select value={value} onChange={(key) => onChange(key as K)}>
      <Label>{label}</Label>
      <Button>
        <SelectValue />
        <ChevronDown size={14} aria-hidden />
      </Button>
      <Popover>
        <ListBox items={options}>
          {(one) => (
            <ListBoxItem id={one.id} textValue={one.name}>
              <Text slot="label">{one.name}</Text>
              {one.description !== undefined && <Text slot="description">{one.description}</Text>}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </Select>
  );
}
