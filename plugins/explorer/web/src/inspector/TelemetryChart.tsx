import { ChartLine } from "lucide-react";
import { useEffect, useEffectEvent, useRef } from "react";
import { Button } from "react-aria-components";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import type { Series } from "../live/store";
import { windowOf } from "./timeWindow";

const HEIGHT = 110;

interface Props {
  series: Series;
  unit: string;
  /** Shows it in the view of charts; without it nothing is kept there. */
  onChart?(): void;
}

/** One numeric telemetry over time, with its last value in words. */
export function TelemetryChart({ series, unit, onChart }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const name = series.component === null ? series.name : `${series.component}.${series.name}`;
  const fill = useEffectEvent((chart: uPlot) => draw(chart, series));

  useEffect(() => {
    const place = host.current;
    if (place === null) return;
    const made = new uPlot(optionsOf(place), [[], []], place);
    fill(made);
    plot.current = made;
    const sizes = new ResizeObserver(() =>
      made.setSize({ width: place.clientWidth, height: HEIGHT }),
    );
    sizes.observe(place);
    return () => {
      sizes.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => {
    if (plot.current !== null) draw(plot.current, series);
  }, [series]);

  const last = series.values.at(-1) ?? 0;
  return (
    <figure className="inspector-chart" aria-label={`Telemetry ${name}`}>
      <figcaption>
        {name}
        <strong>
          {last.toLocaleString([], { maximumFractionDigits: 4 })} {unit}
        </strong>
        {onChart !== undefined && (
          <Button
            className="button button-quiet button-icon button-small"
            aria-label={`Show ${name} as a chart`}
            onPress={onChart}
          >
            <ChartLine size={14} aria-hidden />
          </Button>
        )}
      </figcaption>
      <div ref={host} className="inspector-plot" aria-hidden />
    </figure>
  );
}

/** NOTE: the axis is set by hand, as the library makes a day of one value and nothing of two at once. */
function draw(plot: uPlot, { times, values }: Series): void {
  const [min, max] = windowOf(times);
  plot.batch(() => {
    plot.setData([times, values], false);
    plot.setScale("x", { min, max });
  });
}

function optionsOf(place: HTMLElement): uPlot.Options {
  // NOTE: asked anew at each drawing, so that both themes are right.
  const style = () => getComputedStyle(place);
  const axis: uPlot.Axis = {
    stroke: () => style().color,
    font: "11px system-ui",
    grid: { stroke: () => style().borderTopColor, width: 1 },
    ticks: { show: false },
  };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    axes: [
      { ...axis, size: 22, space: 70 },
      { ...axis, size: 46 },
    ],
    series: [
      {},
      {
        stroke: () => style().caretColor,
        width: 1.5,
        points: { size: 4 },
      },
    ],
  };
}
