import { Spline } from "lucide-react";
import { useEffect } from "react";

import { CreateRelationship } from "../inspector/CreateRelationship";
import { useModels } from "../models/useModels";
import { useSession } from "../session/session";
import { useDrawing } from "./drawing";
import { labelOf } from "./model";
import { usePicture } from "./store";
import { WordButton, WordToggle } from "./WordButton";

/** The line from a twin to the pointer, which says whether the models allow it. */
export function DrawingLine() {
  const line = useDrawing((state) => state.line);
  const { index } = useModels();
  const nodes = usePicture((state) => state.contents.nodes);
  if (line === null) return null;
  const { source, target, from, to } = line;
  const modelOf = (id: string): string => nodes.get(id)?.$metadata.$model ?? "";
  const ends = target === null || target === source ? null : target;
  const names = ends === null ? [] : index.relationshipsBetween(modelOf(source), modelOf(ends));
  const allowed = names.length > 0;
  return (
    <>
      <svg className="picture-line" data-end={ends === null ? "none" : allowed ? "yes" : "no"}>
        <line x1={from.x} y1={from.y} x2={to.x} y2={to.y} />
        <circle cx={to.x} cy={to.y} r={4} />
      </svg>
      <p className="picture-told" role="status">
        {ends === null
          ? `From ${labelOf(source, nodes.get(source))} to …`
          : allowed
            ? `${names.map((one) => one.name).join(", ")} to ${labelOf(ends, nodes.get(ends))}`
            : `The models allow no relationship from ${index.label(modelOf(source))} to ${index.label(modelOf(ends))}.`}
      </p>
    </>
  );
}

/** What is asked once a relationship was drawn. */
export function DrawnRelationship() {
  const ends = useDrawing((state) => state.ends);
  useEffect(() => () => useDrawing.setState({ ends: null, line: null, drawing: false }), []);
  if (ends === null) return null;
  return (
    <CreateRelationship
      sourceId={ends.source}
      {...(ends.target === undefined ? {} : { targetId: ends.target })}
      onClose={() => useDrawing.setState({ ends: null })}
    />
  );
}

/** Ways to a new relationship: by mouse, or between two twins that are chosen. */
export function DrawTools() {
  const { may } = useSession();
  const drawing = useDrawing((state) => state.drawing);
  const [source, target, more] = usePicture((state) => state.chosen);
  if (!may("digitaltwins/relationships/write")) return null;
  if (source !== undefined && target !== undefined && more === undefined) {
    return (
      <WordButton
        icon={Spline}
        label="Connect"
        tip="Connect the first chosen twin to the second by a new relationship"
        onPress={() => useDrawing.setState({ ends: { source, target } })}
      />
    );
  }
  return (
    <WordToggle
      icon={Spline}
      label="Draw"
      tip="Draw a new relationship from one twin to another"
      isSelected={drawing}
      onChange={(on) => useDrawing.setState({ drawing: on })}
    />
  );
}
