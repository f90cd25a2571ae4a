import { Settings2 } from "lucide-react";
import {
  Button,
  Dialog,
  DialogTrigger,
  Heading,
  Popover,
  ToggleButton,
  ToggleButtonGroup,
} from "react-aria-components";

import { showText } from "../app/showText";
import type { Containment } from "./containment";
import { useContainment } from "./useContainment";

const WAYS = [
  { id: "none", name: "No" },
  { id: "down", name: "Contains" },
  { id: "up", name: "Is in" },
] as const;

/** Which relationships say what contains what; found by name and shape unless somebody chooses. */
export function ContainmentChoice() {
  const { containment, names, isChosen, choose } = useContainment();
  const set = (name: string, way: string): void => {
    const others = containment.filter((one) => one.name !== name);
    const direction = way as Containment["direction"];
    choose(way === "none" ? others : [...others, { name, direction }]);
  };
  return (
    <DialogTrigger>
      <Button
        className="button button-quiet button-icon button-small"
        aria-label="Choose what contains what"
      >
        <Settings2 size={15} aria-hidden />
      </Button>
      <Popover placement="bottom start" className="react-aria-Popover locations-choice">
        <Dialog aria-label="What contains what">
          <Heading slot="title">What contains what</Heading>
          <p className="muted">
            {isChosen ? "As chosen in this browser." : "Found by the names and the shape."}
          </p>
          <ul>
            {names.map((name) => (
              <li key={name}>
                <span className="locations-name">{showText(name)}</span>
                <ToggleButtonGroup
                  aria-label={name}
                  selectionMode="single"
                  disallowEmptySelection
                  selectedKeys={[containment.find((one) => one.name === name)?.direction ?? "none"]}
                  onSelectionChange={(keys) => {
                    const [way] = keys;
                    if (way !== undefined) set(name, String(way));
                  }}
                >
                  {WAYS.map((one) => (
                    <ToggleButton
                      key={one.id}
                      id={one.id}
                      className="react-aria-ToggleButton button-small"
                    >
                      {one.name}
                    </ToggleButton>
                  ))}
                </ToggleButtonGroup>
              </li>
            ))}
          </ul>
          {names.length === 0 && <p className="muted">There is no relationship.</p>}
          {isChosen && (
            <Button className="button button-small" onPress={() => choose(null)}>
              As found
            </Button>
          )}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}
