import { useState } from "react";

import { FormFrame } from "../inspector/FormFrame";
import { useSession } from "../session/session";
import { expandAround } from "./actions";
import { MOST_STEPS, type Direction, type Kind } from "./ask";
import { Choice } from "./StyleOf";

interface Props {
  id: string;
  label: string;
  kinds: readonly Kind[];
  onClose(): void;
}

const STEPS = Array.from({ length: MOST_STEPS }, (_, at) => String(at + 1));
const DIRECTIONS: readonly (readonly [Direction, string])[] = [
  ["both", "Both ways"],
  ["out", "Outgoing"],
  ["in", "Incoming"],
];

/** Asks how far, which way and along which relationships a twin is expanded. */
export default function ExpandDialog({ id, label, kinds, onClose }: Props) {
  const { graph } = useSession();
  const [steps, setSteps] = useState("2");
  const [direction, setDirection] = useState<Direction>("both");
  const [name, setName] = useState("");
  const names = [...new Set(kinds.map((one) => one.name))];
  return (
    <FormFrame
      title={`Expand ${label}`}
      submit="Expand"
      isReady
      onSubmit={async () => {
        onClose();
        const reach = { steps: Number(steps), direction, name: name === "" ? null : name };
        await expandAround(graph, id, reach);
      }}
      onClose={onClose}
    >
      <Choice
        label="Steps"
        value={steps}
        options={STEPS.map((one) => [one, one] as const)}
        onChange={setSteps}
      />
      <Choice
        label="Direction"
        value={direction}
        options={DIRECTIONS}
        onChange={(one) => setDirection(DIRECTIONS.find(([known]) => known === one)?.[0] ?? "both")}
      />
      <Choice
        label="Relationship"
        value={name}
        options={[["", "All"], ...names.map((one) => [one, one] as const)]}
        onChange={setName}
      />
    </FormFrame>
  );
}
