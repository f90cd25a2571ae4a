import { Search, X } from "lucide-react";
import { useEffect, useMemo } from "react";
import { Button, FieldError, Group, Input, SearchField } from "react-aria-components";

import { useModels } from "../models/useModels";
import { findProblem } from "./filterProblem";
import { usePicture } from "./store";

/** Hides what its words do not fit. What cannot be meant so says why, and hides nothing more. */
export function Filter() {
  const { filter, draft } = usePicture((state) => state.hiding);
  const contents = usePicture((state) => state.contents);
  const hide = usePicture((state) => state.hide);
  const { index } = useModels();
  const problem = useMemo(
    () => (draft === null ? null : findProblem(draft, contents, index)),
    [draft, contents, index],
  );
  // Also when it is no longer wrong, as twins came in that have what it asks for.
  useEffect(() => {
    if (draft !== null && problem === null) hide({ filter: draft, draft: null });
  }, [draft, problem, hide]);
  return (
    <SearchField
      aria-label="Filter the graph"
      className="react-aria-SearchField picture-filter"
      value={draft ?? filter}
      onChange={(text) => hide({ draft: text })}
      isInvalid={problem !== null}
    >
      <Group>
        <Search size={14} aria-hidden className="picture-filter-icon" />
        <Input
          className="react-aria-Input"
          placeholder="Filter: text, area>20, name=…"
          title='Words that a twin&apos;s id, name or model has, or conditions of properties: area>20, climate.mode=auto, name:"hall"'
        />
        <Button
          className="button button-quiet button-icon button-small"
          aria-label="Clear the filter"
        >
          <X size={13} aria-hidden />
        </Button>
      </Group>
      <FieldError className="react-aria-FieldError picture-filter-problem">{problem}</FieldError>
    </SearchField>
  );
}
