import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import {
  Button,
  ListBox,
  ListBoxItem,
  Text,
  ToggleButton,
  ToggleButtonGroup,
} from "react-aria-components";

import { titleOf } from "../../api/errors";
import { Failure } from "../../app/Failure";
import { showText } from "../../app/showText";
import { TwinSearch } from "../../inspector/TwinSearch";
import { readParts } from "../../locations/read";
import { useContainment } from "../../locations/useContainment";
import { useModels } from "../../models/useModels";
import { useSession } from "../../session/session";
import type { Plan, Tool } from "./plan";
import type { Drafting } from "./useDraft";

const TOOLS: readonly { id: Tool; name: string }[] = [
  { id: "rectangle", name: "Rectangle" },
  { id: "area", name: "Area" },
  { id: "point", name: "Point" },
];
/** So many parts of the location are offered. */
const MOST_PARTS = 500;

/** The parts of the plan's location that are not on it yet. */
export function useLeft(plan: Plan | null) {
  const { graph, graphId, may } = useSession();
  const { containment } = useContainment();
  const location = plan?.location ?? null;
  const { data } = useQuery({
    queryKey: ["locations", graphId, "plan", containment, location],
    queryFn: ({ signal }) => readParts(graph, containment, location ?? "", MOST_PARTS, signal),
    enabled: location !== null && containment.length > 0 && may("query/read"),
  });
  return useMemo(
    () => (data?.rows ?? []).filter((one) => plan !== null && !plan.shapes.has(one.id)),
    [data, plan],
  );
}

interface Props {
  draft: Drafting;
  plan: Plan;
  left: ReturnType<typeof useLeft>;
  /** The twin that is selected, if it is on the plan. */
  selected: string | null;
  /** A twin is drawn: the next one comes. */
  onDrawn(): void;
}

/** What is drawn next, with which tool, and the way to save it. */
export function DrawSide({ draft, plan, left, selected, onDrawn }: Props) {
  const { index } = useModels();
  const { subject, tool } = draft;
  const choose = (id: string): void => {
    draft.chooseSubject(id);
    if (tool === null) draft.chooseTool("rectangle");
  };
  return (
    <section className="plan-side" aria-label="Drawing">
      <div className="plan-tools">
        <Button
          className="button button-small button-primary"
          isPending={draft.isBusy}
          onPress={() => void draft.save()}
        >
          Save
        </Button>
        <Button className="button button-small" isDisabled={draft.isBusy} onPress={draft.end}>
          Discard
        </Button>
        {selected !== null && plan.shapes.has(selected) && (
          <Button className="button button-small" onPress={() => draft.put(selected, null)}>
            Take off the plan
          </Button>
        )}
      </div>
      {draft.error !== null && <Failure title={titleOf(draft.error)} error={draft.error} />}
      <h2>What to draw</h2>
      <TwinSearch
        key={subject ?? ""}
        label="Twin to draw"
        model={undefined}
        value={subject ?? ""}
        isBare
        onChoose={choose}
      />
      {left.length > 0 && (
        <ListBox
          aria-label="Not on the plan yet"
          className="plan-left"
          items={left}
          selectionMode="single"
          selectedKeys={subject === null ? [] : [subject]}
          onSelectionChange={(keys) => {
            const [id] = keys === "all" ? [] : keys;
            if (id !== undefined) choose(String(id));
          }}
        >
          {(one) => (
            <ListBoxItem id={one.id} textValue={one.name}>
              <Text slot="label">{showText(one.name)}</Text>
              <Text slot="description">{showText(index.label(one.model))}</Text>
            </ListBoxItem>
          )}
        </ListBox>
      )}
      <ToggleButtonGroup
        className="react-aria-ToggleButtonGroup plan-tools"
        aria-label="Drawn as"
        selectionMode="single"
        selectedKeys={tool === null ? [] : [tool]}
        onSelectionChange={([key]) =>
          draft.chooseTool(TOOLS.find((one) => one.id === key)?.id ?? null)
        }
      >
        {TOOLS.map(({ id, name }) => (
          <ToggleButton key={id} id={id} className="react-aria-ToggleButton button-small">
            {name}
          </ToggleButton>
        ))}
      </ToggleButtonGroup>
      <p className="muted">
        {subject === null
          ? "Choose a twin to draw. One that is on the plan is moved by pulling it."
          : tool === null
            ? "Choose how it is drawn."
            : HINTS[tool]}
      </p>
      {tool === "area" && draft.corners.length > 2 && (
        <Button
          className="button button-small"
          onPress={() => {
            if (draft.finish()) onDrawn();
          }}
        >
          Finish the area
        </Button>
      )}
    </section>
  );
}

const HINTS: Readonly<Record<Tool, string>> = {
  rectangle: "Click two opposite corners.",
  area: "Click the corners; a double click sets the last one.",
  point: "Click where it is.",
};
