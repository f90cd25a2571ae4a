import { useMemo } from "react";

import type { EdgeKind } from "../../picture/board";
import { Tick } from "../../picture/Legend";
import type { Palette } from "../../picture/palette";
import { ModelLink } from "../Contents";
import type { ModelIndex } from "../index";
import { useModelPicture } from "./board";
import { NAMES } from "./kinds";
import { hasEdge, KINDS, type Tie } from "./ties";

interface Props {
  index: ModelIndex;
  ties: readonly Tie[];
  palette: Palette;
}

/** How the kinds of edges are drawn, with their numbers; what has no edge is listed below. */
export function ModelLegend({ index, ties, palette }: Props) {
  const { hidden, hide } = useModelPicture();
  const [drawn, open] = useMemo(
    () => [ties.filter((tie) => hasEdge(index, tie)), ties.filter((tie) => !hasEdge(index, tie))],
    [index, ties],
  );
  const toggle = (kind: EdgeKind): void => {
    const next = new Set(hidden);
    if (!next.delete(kind)) next.add(kind);
    hide(next);
  };
  const only = (kind: EdgeKind): void => {
    const alone = KINDS.every((one) => hidden.has(one) === (one !== kind));
    hide(new Set(alone ? [] : KINDS.filter((one) => one !== kind)));
  };
  return (
    <aside className="picture-legend" aria-label="Legend">
      <h3>Edges</h3>
      <ul>
        {KINDS.map((kind) => (
          <li key={kind}>
            <Tick
              shown={!hidden.has(kind)}
              name={NAMES[kind]}
              count={drawn.filter((tie) => tie.kind === kind).length}
              onToggle={() => toggle(kind)}
              onOnly={() => only(kind)}
            >
              <Sample kind={kind} palette={palette} />
            </Tick>
          </li>
        ))}
      </ul>
      {open.length > 0 && <h3>Without an edge</h3>}
      <ul>
        {open.map(({ kind, source, target, name }) => (
          <li key={`${source} ${kind} ${name} ${target ?? ""}`}>
            <ModelLink id={source} index={index} /> {name || "extends"}{" "}
            <span className="muted">
              {target === null ? "to any model" : `to ${target}, which is not stored`}
            </span>
          </li>
        ))}
      </ul>
    </aside>
  );
}

function Sample({ kind, palette }: { kind: EdgeKind; palette: Palette }) {
  return (
    <svg width={26} height={10} aria-hidden>
      <line
        x2={26}
        y1={5}
        y2={5}
        stroke={kind === "extends" ? palette.muted : palette[kind]}
        strokeWidth={kind === "component" ? 3.5 : 2}
        strokeDasharray={kind === "extends" ? "5 4" : undefined}
      />
    </svg>
  );
}
