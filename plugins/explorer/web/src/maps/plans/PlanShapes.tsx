import { memo } from "react";

import type { DrawnTwin } from "../useDrawn";
import { boxOf, clamp, middleOf, type Shape, type Shapes } from "./plan";

interface Props {
  shapes: Shapes;
  drawn: ReadonlyMap<string, DrawnTwin>;
  selected: string | null;
  lit: ReadonlySet<string>;
  /** How long a pixel of the screen is on the plan. */
  pixel: number;
  /** How wide the plan is: captions do not go beyond it. */
  width: number;
}

const TEXT = 12;
/** About how wide a letter is, of the height of the text. */
const LETTER = 0.56;

/** The twins on a floor plan; the selected one is drawn above all others. */
export const PlanShapes = memo(function PlanShapes(props: Props) {
  const { shapes, drawn, selected } = props;
  const last = selected === null ? undefined : shapes.get(selected);
  const order = [...shapes].filter(([id]) => id !== selected);
  if (selected !== null && last !== undefined) order.push([selected, last]);
  return order.map(([id, shape]) => {
    const twin = drawn.get(id);
    if (twin === undefined) return null;
    return <OneShape key={id} {...props} twin={twin} shape={shape} />;
  });
});

function OneShape({
  twin,
  shape,
  selected,
  lit,
  pixel,
  width,
}: Props & { twin: DrawnTwin; shape: Shape }) {
  const isSelected = selected === twin.id;
  const state = lit.has(twin.id) ? "lit" : isSelected ? "selected" : undefined;
  const stroke = (state === undefined ? 1.5 : 3.5) * pixel;
  const paint = { fill: twin.color, stroke: twin.color, strokeWidth: stroke };
  const [x, y] = middleOf(shape);
  const isPoint = shape.length === 1;
  const length = twin.label.length * TEXT * LETTER * pixel;
  const fits = isPoint || boxOf(shape).width > length;
  const middle = clamp(x, Math.min(width, length) / 2, width - Math.min(width, length) / 2);
  return (
    <g
      data-twin={twin.id}
      data-state={state}
      className={twin.isGone ? "plan-shape plan-gone" : "plan-shape"}
    >
      <title>{twin.isGone ? `${twin.label}: there is no such twin` : twin.label}</title>
      {isPoint ? (
        <circle cx={x} cy={y} r={(isSelected ? 9 : 7) * pixel} {...paint} />
      ) : (
        <polygon points={shape.map((one) => one.join(",")).join(" ")} {...paint} />
      )}
      {(fits || isSelected) && (
        <text
          x={middle}
          y={isPoint ? y + 20 * pixel : y + (TEXT / 3) * pixel}
          fontSize={TEXT * pixel}
          strokeWidth={3 * pixel}
        >
          {twin.label}
        </text>
      )}
    </g>
  );
}
