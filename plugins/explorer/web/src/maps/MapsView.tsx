import { Suspense } from "react";
import { ToggleButton, ToggleButtonGroup } from "react-aria-components";

import { latePart } from "../app/parts";
import { useParameters } from "../app/search";
import { Waiting } from "../app/Waiting";
import { useSession } from "../session/session";
import "./maps.css";

// PERF: a map, a plan and a scene are drawn by libraries of their own, got when they are shown.
const WAYS = [
  { id: "map", name: "Map", Shown: latePart(() => import("./geo/GeoView")) },
  { id: "plans", name: "Floor plans", Shown: latePart(() => import("./plans/PlansView")) },
  { id: "scenes", name: "3D scenes", Shown: latePart(() => import("./scenes/ScenesView")) },
] as const;

/** Where twins are: on a map, on floor plans and in 3D scenes. */
export default function MapsView() {
  const { may } = useSession();
  const [parameters, setParameters] = useParameters();
  const shown = WAYS.find((one) => one.id === parameters.get("show")) ?? WAYS[0];
  if (!may("query/read")) {
    return <p className="maps-none muted">You may not query this graph.</p>;
  }
  return (
    <section className="maps" aria-label="Maps">
      <ToggleButtonGroup
        className="react-aria-ToggleButtonGroup maps-ways"
        aria-label="Where twins are shown"
        selectionMode="single"
        disallowEmptySelection
        selectedKeys={[shown.id]}
        onSelectionChange={([key]) => setParameters({ show: String(key) })}
      >
        {WAYS.map(({ id, name }) => (
          <ToggleButton key={id} id={id} className="react-aria-ToggleButton button-small">
            {name}
          </ToggleButton>
        ))}
      </ToggleButtonGroup>
      <Suspense fallback={<Waiting />}>
        <shown.Shown />
      </Suspense>
    </section>
  );
}
