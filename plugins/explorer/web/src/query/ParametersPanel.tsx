import { json } from "@codemirror/lang-json";
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { Button, Disclosure, DisclosurePanel, Heading } from "react-aria-components";

import type { JsonObject } from "../api/types";
import { Code } from "../code/Code";
import { withMissing } from "./parameters";

interface Props {
  value: string;
  parsed: JsonObject | null;
  error: string | null;
  missing: string[];
  onChange(value: string): void;
}

const JSON_LANGUAGE = json();

/** The parameters of a query as JSON; those that it names and that are missing are told. */
export function ParametersPanel({ value, parsed, error, missing, onChange }: Props) {
  const [open, setOpen] = useState(value.trim() !== "");
  const count = Object.keys(parsed ?? {}).length;
  const add = (): void => {
    onChange(withMissing(parsed ?? {}, missing));
    setOpen(true);
  };
  return (
    <Disclosure className="query-parameters" isExpanded={open} onExpandedChange={setOpen}>
      <div className="query-parameters-head">
        <Heading level={2}>
          <Button slot="trigger" className="button button-quiet button-small">
            <ChevronRight size={14} aria-hidden className="query-chevron" />
            Parameters{count > 0 ? ` (${count})` : ""}
          </Button>
        </Heading>
        {missing.length > 0 && error === null && (
          <>
            <span className="query-doubt">
              No value for {missing.map((name) => `$${name}`).join(", ")}
            </span>
            <Button className="button button-small" onPress={add}>
              Add
            </Button>
          </>
        )}
        {error !== null && (
          <span className="query-wrong" role="alert">
            {error}
          </span>
        )}
      </div>
      <DisclosurePanel>
        {open && (
          <Code
            className="query-parameters-editor"
            label="Parameters as JSON"
            value={value}
            onChange={onChange}
            lines={false}
            extensions={JSON_LANGUAGE}
          />
        )}
      </DisclosurePanel>
    </Disclosure>
  );
}
