import { useEffect, useEffectEvent, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { usePalette } from "../picture/useLook";
import { colorAt } from "./colors";
import type { Limit } from "./request";
import "./time.css";
import type { Values } from "./values";

/** A line of a chart. */
export interface Line {
  key: string;
  label: string;
  /** Lines of one unit share an axis; empty is none. */
  unit: string;
  values: Values;
}

interface Props {
  lines: readonly Line[];
  /** Seconds since 1970. */
  from: number;
  to: number;
  limit: Limit | null;
  height: number;
  /** Hears of a span that was marked by the pointer, in seconds; without it nothing can be marked. */
  onZoom?: ((from: number, to: number) => void) | undefined;
  /** Hears of the time under the pointer, in seconds. */
  onCursor?: ((time: number | null) => void) | undefined;
  /** Gets the drawing while there is one. */
  onDrawing?: ((drawing: HTMLCanvasElement | null) => void) | undefined;
}

/** Lines over time as a drawing, which is of nothing to a screen reader: its legend says it all. */
export function Plot(props: Props) {
  const { lines, from, to, limit, height, onDrawing } = props;
  const host = useRef<HTMLDivElement>(null);
  const palette = usePalette();
  const zoom = useEffectEvent((first: number, last: number) => props.onZoom?.(first, last));
  const point = useEffectEvent((time: number | null) => props.onCursor?.(time));
  const plot = useRef<uPlot>(null);
  const data = useEffectEvent((chart: uPlot) => fill(chart, { lines, from, to }));
  // What makes it another drawing; new values alone do not.
  const shape = [
    limit === null ? "" : `${limit.comparison}${limit.value}`,
    ...lines.map(({ key, unit, values }) => [key, unit, values.holds].join(" ")),
  ].join("\n");
  const build = useEffectEvent((place: HTMLElement) =>
    optionsOf(place, { ...props, onZoom: props.onZoom && zoom, onCursor: point }),
  );
  useEffect(() => {
    const place = host.current;
    if (place === null) return;
    const made = new uPlot(build(place), [[]], place);
    data(made);
    plot.current = made;
    onDrawing?.(made.ctx.canvas);
    const sizes = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height }));
    sizes.observe(place);
    return () => {
      sizes.disconnect();
      made.destroy();
      plot.current = null;
      onDrawing?.(null);
    };
  }, [shape, height, palette, onDrawing]);
  useEffect(() => {
    if (plot.current !== null) fill(plot.current, { lines, from, to });
  }, [lines, from, to]);
  return <div ref={host} className="time-plot" style={{ height }} aria-hidden />;
}

function fill(plot: uPlot, { lines, from, to }: Pick<Props, "lines" | "from" | "to">): void {
  const tables = lines.map(({ values }): uPlot.AlignedData => [
    [...values.times],
    [...values.values],
  ]);
  const joined =
    tables.length === 0
      ? ([[]] as unknown as uPlot.AlignedData)
      : uPlot.join(
          tables,
          tables.map((one) => one.map(() => 1)),
        );
  plot.batch(() => {
    plot.setData(joined, false);
    plot.setScale("x", { min: from, max: to });
    for (const unit of new Set(lines.map((one) => one.unit))) {
      const [low, high] = boundsOf(lines.filter((one) => one.unit === unit));
      plot.setScale(scaleOf(unit), { min: low, max: high });
    }
  });
}

/** What an axis has to reach, with some room; also where all values are one. */
export function boundsOf(lines: readonly Line[]): [low: number, high: number] {
  let [low, high] = [Infinity, -Infinity];
  for (const { values } of lines) {
    for (const one of values.values) {
      if (one === null) continue;
      low = Math.min(low, one);
      high = Math.max(high, one);
    }
  }
  if (low > high) return [0, 1];
  const room = high === low ? Math.max(1, Math.abs(high) * 0.1) : (high - low) * 0.08;
  return [low - room, high + room];
}

function scaleOf(unit: string): string {
  return `y ${unit}`;
}

function optionsOf(place: HTMLElement, props: Props): uPlot.Options {
  const { lines, limit, height, onZoom, onCursor } = props;
  // NOTE: asked anew at each drawing, so that both themes are right.
  const style = () => getComputedStyle(place);
  const axis: uPlot.Axis = {
    stroke: () => style().color,
    font: "11px system-ui",
    grid: { stroke: () => style().borderTopColor, width: 1 },
    ticks: { show: false },
  };
  const units = [...new Set(lines.map((one) => one.unit))];
  return {
    width: place.clientWidth,
    height,
    legend: { show: false },
    cursor: { drag: { x: onZoom !== undefined, y: false, setScale: false }, y: false },
    scales: Object.fromEntries(units.map((unit) => [scaleOf(unit), { auto: false }])),
    axes: [
      { ...axis, size: 36, space: 70 },
      ...units.map((unit, at): uPlot.Axis => ({
        ...axis,
        scale: scaleOf(unit),
        side: at === 0 ? 3 : 1,
        size: unit === "" ? 50 : 56,
        ...(unit === "" ? {} : { label: unit, labelSize: 16, labelFont: "11px system-ui" }),
        // The lines of one axis are enough.
        grid: at === 0 ? (axis.grid ?? {}) : { show: false },
      })),
    ],
    series: [
      {},
      ...lines.map((line, at): uPlot.Series => ({
        label: line.label,
        scale: scaleOf(line.unit),
        stroke: colorAt(place, at),
        width: 1.75,
        // Values that others have at times at which it has none do not cut it.
        spanGaps: false,
        ...(line.values.holds && STEPPED !== undefined ? { paths: STEPPED } : {}),
        points: { size: 5 },
      })),
    ],
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < 5 || onZoom === undefined) return;
          const [first, last] = [left, left + width].map((one) => plot.posToVal(one, "x"));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          onZoom(first ?? 0, last ?? 0);
        },
      ],
      setCursor: [
        (plot) => {
          const { left } = plot.cursor;
          onCursor?.(left === undefined || left < 0 ? null : plot.posToVal(left, "x"));
        },
      ],
      draw: [(plot) => drawLimit(plot, units[0] ?? "", limit, style().caretColor)],
    },
  };
}

const STEPPED = uPlot.paths.stepped?.({ align: 1 });

/** The limit as a dashed line, on the first axis. */
function drawLimit(plot: uPlot, unit: string, limit: Limit | null, color: string): void {
  const scale = plot.scales[scaleOf(unit)];
  if (limit === null || scale === undefined) return;
  const [min, max] = [scale.min ?? 0, scale.max ?? 0];
  if (limit.value < min || limit.value > max) return;
  const { ctx, bbox } = plot;
  const y = plot.valToPos(limit.value, scaleOf(unit), true);
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}
