import { Check } from "lucide-react";
import { useState } from "react";
import { Checkbox, CheckboxGroup, Label, Text } from "react-aria-components";

import { showText } from "../app/showText";
import { FormFrame } from "../inspector/FormFrame";
import { listNames } from "../locations/containment";
import { useModels } from "../models/useModels";
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
  const [names, setNames] = useState<readonly string[]>([]);
  const { index } = useModels();
  // Its own first: on the way there may be others.
  const offered = [...new Set([...kinds.map((one) => one.name), ...listNames(index)])];
  return (
    <FormFrame
      title={`Expand ${label}`}
      submit="Expand"
      isReady
      onSubmit={async () => {
        onClose();
        await expandAround(graph, id, { steps: Number(steps), direction, names });
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
      <CheckboxGroup value={[...names]} onChange={setNames}>
        <Label>Relationships</Label>
        <Text slot="description">{names.length === 0 ? "All" : `${names.length} chosen`}</Text>
        <div className="picture-names">
          {offered.map((name) => (
            <Checkbox key={name} value={name}>
              <span className="checkbox-box">
                <Check size={12} strokeWidth={3} aria-hidden />
              </span>
              {showText(name)}
            </Checkbox>
          ))}
        </div>
      </CheckboxGroup>
    </FormFrame>
  );
}
