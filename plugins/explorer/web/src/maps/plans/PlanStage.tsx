import { pointer, select as selectElement } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior, type ZoomTransform } from "d3-zoom";
import { Maximize, ZoomIn, ZoomOut } from "lucide-react";
import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";

import { IconButton } from "../../picture/IconButton";
import type { DrawnTwin } from "../useDrawn";
import { clamp, moveShape, type At, type Plan, type Shape, type Tool } from "./plan";
import { PlanShapes } from "./PlanShapes";

export interface Drawing {
  tool: Tool | null;
  corners: readonly At[];
  /** A corner was set, `isLast` where it finishes an area. */
  onCorner(at: At, isLast: boolean): void;
  onBack(): void;
  onEnd(): void;
  onMove(id: string, shape: Shape): void;
  onRemove(id: string): void;
}

interface Props {
  name: string;
  plan: Plan;
  drawn: ReadonlyMap<string, DrawnTwin>;
  selected: string | null;
  lit: ReadonlySet<string>;
  /** Null where the plan is only looked at. */
  drawing: Drawing | null;
  onSelect(id: string | null): void;
}

/** So many steps of the keyboard are across. */
const STEPS = 100;
const LARGE_STEP = 5;
const DEEPEST = 60;

/** A floor plan with the twins on it, which can be zoomed, moved and drawn on. */
export function PlanStage({ name, plan, drawn, selected, lit, drawing, onSelect }: Props) {
  const { width, height } = plan;
  const stage = useRef<SVGSVGElement>(null);
  const { transform, unit, zoomBy, reset } = useZoom(stage, plan, drawing !== null);
  const [cursor, setCursor] = useState<At | null>(null);
  const [pulled, setPulled] = useState<{ id: string; from: At; shape: Shape; by: At } | null>(null);
  const tool = drawing?.tool ?? null;
  const step = Math.max(width, height) / STEPS;
  const atOf = (event: { nativeEvent: Event }): At => {
    const [x, y] = transform.invert(pointer(event.nativeEvent, stage.current));
    return [clamp(x, 0, width), clamp(y, 0, height)];
  };
  const shapeIdOf = (event: { target: EventTarget }): string | null =>
    event.target instanceof Element
      ? (event.target.closest("[data-twin]")?.getAttribute("data-twin") ?? null)
      : null;
  const keys = (event: KeyboardEvent): void => {
    const [across, down] = ARROWS[event.key] ?? [0, 0];
    const far = step * (event.shiftKey ? LARGE_STEP : 1);
    const shape = selected === null ? undefined : plan.shapes.get(selected);
    if (event.key === "+" || event.key === "-") zoomBy(event.key === "+" ? 1.5 : 1 / 1.5);
    else if (event.key === "0") reset();
    else if (drawing === null) return;
    else if (tool !== null && (across !== 0 || down !== 0)) {
      const [x, y] = cursor ?? [width / 2, height / 2];
      setCursor([clamp(x + across * far, 0, width), clamp(y + down * far, 0, height)]);
    } else if (tool !== null && (event.key === "Enter" || event.key === " ")) {
      const at = cursor ?? [width / 2, height / 2];
      const last = drawing.corners.at(-1);
      // A corner that is set twice is the last one.
      drawing.onCorner(at, last !== undefined && last[0] === at[0] && last[1] === at[1]);
      setCursor(at);
    } else if (tool !== null && event.key === "Backspace") drawing.onBack();
    else if (tool !== null && event.key === "Escape") drawing.onEnd();
    else if (selected !== null && shape !== undefined && (across !== 0 || down !== 0)) {
      drawing.onMove(selected, moveShape(shape, [across * far, down * far], plan));
    } else if (selected !== null && shape !== undefined && event.key === "Delete") {
      drawing.onRemove(selected);
    } else return;
    event.preventDefault();
  };
  const press = (event: PointerEvent): void => {
    const id = shapeIdOf(event);
    const shape = id === null ? undefined : plan.shapes.get(id);
    if (drawing === null || tool !== null || id === null || shape === undefined) return;
    if (event.button !== 0) return;
    stage.current?.setPointerCapture(event.pointerId);
    setPulled({ id, from: atOf(event), shape, by: [0, 0] });
  };
  const pull = (event: PointerEvent): void => {
    if (tool !== null) setCursor(atOf(event));
    if (pulled === null) return;
    const [x, y] = atOf(event);
    setPulled({ ...pulled, by: [x - pulled.from[0], y - pulled.from[1]] });
  };
  const release = (): void => {
    if (pulled !== null && Math.hypot(...pulled.by) * transform.k > 2 * unit) {
      drawing?.onMove(pulled.id, moveShape(pulled.shape, pulled.by, plan));
    }
    setPulled(null);
  };
  const shapes = new Map(plan.shapes);
  if (pulled !== null) shapes.set(pulled.id, moveShape(pulled.shape, pulled.by, plan));
  return (
    <div className="maps-stage">
      <svg
        ref={stage}
        className="plan-svg"
        viewBox={`0 0 ${width} ${height}`}
        role="application"
        aria-label={drawing === null ? `Floor plan ${name}` : `Floor plan ${name}, being drawn`}
        aria-describedby="plan-keys"
        tabIndex={0}
        data-drawing={tool !== null || undefined}
        {...{
          onKeyDown: keys,
          onPointerDown: press,
          onPointerMove: pull,
          onPointerUp: release,
          onPointerCancel: () => setPulled(null),
          onClick: (event: { nativeEvent: MouseEvent; target: EventTarget; detail: number }) => {
            if (tool !== null) drawing?.onCorner(atOf(event), event.detail > 1);
            else onSelect(shapeIdOf(event));
          },
        }}
      >
        <g transform={transform.toString()}>
          <rect className="plan-paper" width={width} height={height} />
          {/* SEC: an SVG in an image runs no script and fetches nothing; it is never inline. */}
          {plan.image !== null && <image href={plan.image} width={width} height={height} />}
          <PlanShapes
            shapes={shapes}
            drawn={drawn}
            selected={selected}
            lit={lit}
            pixel={unit / transform.k}
            width={width}
          />
          {drawing !== null && (
            <Corners drawing={drawing} cursor={cursor} pixel={unit / transform.k} />
          )}
        </g>
      </svg>
      <div className="plan-zoom" role="group" aria-label="Zoom">
        <IconButton label="Zoom in" icon={ZoomIn} onPress={() => zoomBy(1.5)} />
        <IconButton label="Zoom out" icon={ZoomOut} onPress={() => zoomBy(1 / 1.5)} />
        <IconButton label="Show all" icon={Maximize} onPress={reset} />
      </div>
      <p id="plan-keys" className="plan-keys">
        {drawing === null
          ? "+ and - zoom, 0 shows all."
          : tool === null
            ? "Arrow keys move the selected twin, with Shift farther; Delete takes it off the plan."
            : `Arrow keys move the cross, with Shift farther; Enter sets a corner${
                tool === "area" ? ", and once more the last one" : ""
              }; Backspace takes one back, Escape ends.`}
      </p>
      <p className="plan-heard" role="status">
        {tool !== null && cursor !== null
          ? `${Math.round((100 * cursor[0]) / width)} % across, ${Math.round((100 * cursor[1]) / height)} % down`
          : ""}
      </p>
    </div>
  );
}

const ARROWS: Readonly<Record<string, At>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** What is being drawn: its corners so far, and the cross that says where the next one is set. */
function Corners({
  drawing: { tool, corners },
  cursor,
  pixel,
}: {
  drawing: Drawing;
  cursor: At | null;
  pixel: number;
}) {
  if (tool === null) return null;
  const first = corners[0];
  const shown = cursor === null ? corners : [...corners, cursor];
  return (
    <g className="plan-corners" strokeWidth={1.5 * pixel}>
      {tool === "rectangle" && first !== undefined && cursor !== null ? (
        <rect
          x={Math.min(first[0], cursor[0])}
          y={Math.min(first[1], cursor[1])}
          width={Math.abs(first[0] - cursor[0])}
          height={Math.abs(first[1] - cursor[1])}
        />
      ) : (
        <polyline points={shown.map((one) => one.join(",")).join(" ")} />
      )}
      {corners.map(([x, y], at) => (
        <circle key={at} cx={x} cy={y} r={4 * pixel} />
      ))}
      {cursor !== null && (
        <path
          d={`M${cursor[0] - 10 * pixel} ${cursor[1]}h${20 * pixel}M${cursor[0]} ${cursor[1] - 10 * pixel}v${20 * pixel}`}
        />
      )}
    </g>
  );
}

/** How a plan is zoomed and moved, by wheel, fingers and buttons; `unit` is a pixel at no zoom. */
function useZoom(
  stage: { current: SVGSVGElement | null },
  { width, height }: { width: number; height: number },
  isDrawn: boolean,
) {
  const [transform, setTransform] = useState<ZoomTransform>(zoomIdentity);
  const [unit, setUnit] = useState(1);
  const behavior = useRef<ZoomBehavior<SVGSVGElement, unknown> | null>(null);
  useEffect(() => {
    const svg = stage.current;
    if (svg === null) return;
    const made = zoom<SVGSVGElement, unknown>()
      .scaleExtent([0.5, DEEPEST])
      .clickDistance(4)
      .filter((event: MouseEvent) => {
        // Shapes are moved themselves while the plan is drawn.
        const isShape = event.target instanceof Element && event.target.closest("[data-twin]");
        return !event.button && !(isDrawn && isShape && event.type !== "wheel");
      })
      .on("zoom", (event: { transform: ZoomTransform }) => setTransform(event.transform));
    behavior.current = made;
    selectElement(svg).call(made).on("dblclick.zoom", null);
    const measure = (): void => {
      const scale = Math.min(svg.clientWidth / width, svg.clientHeight / height);
      if (scale > 0) setUnit(1 / scale);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(svg);
    return () => {
      observer.disconnect();
      selectElement(svg).on(".zoom", null);
    };
  }, [stage, width, height, isDrawn]);
  const act = (run: (behavior: ZoomBehavior<SVGSVGElement, unknown>) => void): void => {
    if (behavior.current !== null) run(behavior.current);
  };
  return {
    transform,
    unit,
    zoomBy: (factor: number) =>
      act((one) => stage.current && one.scaleBy(selectElement(stage.current), factor)),
    reset: () =>
      act((one) => stage.current && one.transform(selectElement(stage.current), zoomIdentity)),
  };
}
