import { useMemo } from "react";

import type { PushedPart } from "../../api/types";
import { CARD_WIDTH, layOut, type Card } from "./layout";
import type { PlanNode } from "./plan";

interface Props {
  root: PlanNode;
  pushed: readonly PushedPart[];
}

/** The operators as a tree: rows flow upwards, what a part of the store runs has a ground of its own. */
export function PlanPicture({ root, pushed }: Props) {
  const { cards, edges, parts, width, height } = useMemo(() => layOut(root), [root]);
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrolled by the keyboard
    <div className="plan-scroll" tabIndex={0} role="group" aria-label="Plan as a picture">
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`Plan of ${cards.length} operators; «Text» shows it as text`}
      >
        {parts.map(({ part, ...box }) => (
          <g key={part} className="plan-frame" data-part={part % 4}>
            <rect {...box} rx={10} />
            <text x={box.x + box.width - 10} y={box.y + 15} textAnchor="end">
              Part {part + 1} · {pushed[part]?.engine}
            </text>
          </g>
        ))}
        {edges.map(({ from, to }) => (
          <path
            key={`${from.x},${from.y}`}
            className="plan-edge"
            d={curve(from, to)}
            markerEnd="url(#plan-arrow)"
          />
        ))}
        <defs>
          <marker
            id="plan-arrow"
            viewBox="0 0 8 8"
            refX={7}
            refY={4}
            markerWidth={7}
            markerHeight={7}
            orient="auto"
          >
            <path d="M0 0 L8 4 L0 8 z" className="plan-arrow" />
          </marker>
        </defs>
        {cards.map((card) => (
          <Operator key={`${card.x},${card.y}`} card={card} />
        ))}
      </svg>
    </div>
  );
}

function Operator({ card }: { card: Card }) {
  const { node, lines, x, y, height } = card;
  return (
    <g
      className="plan-card"
      transform={`translate(${x} ${y})`}
      data-part={node.part === null ? "none" : node.part % 4}
    >
      <title>{[node.operator, ...node.arguments, node.note ?? ""].join("\n").trim()}</title>
      <rect width={CARD_WIDTH} height={height} rx={6} />
      <rect className="plan-edge-mark" width={4} height={height} rx={2} />
      <text x={14} y={20} className="plan-operator">
        {node.operator}
      </text>
      {node.figures !== undefined && (
        <text x={CARD_WIDTH - 12} y={20} textAnchor="end" className="plan-line">
          {node.figures}
        </text>
      )}
      {lines.map((line, at) => (
        <text key={at} x={14} y={40 + at * 16} className="plan-line">
          {line}
        </text>
      ))}
    </g>
  );
}

/** From the middle of the upper edge to the middle of the lower one. */
function curve(from: Card, to: Card): string {
  const [x1, y1] = [from.x + CARD_WIDTH / 2, from.y];
  const [x2, y2] = [to.x + CARD_WIDTH / 2, to.y + to.height + 1];
  const middle = (y1 + y2) / 2;
  return `M${x1} ${y1} C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`;
}
