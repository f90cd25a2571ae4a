import { useEffect, useEffectEvent, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import type { Series } from "../live/store";

const HEIGHT = 110;
/** The least that an axis tells of, in seconds. */
const SHORTEST = 60;

/** One numeric telemetry over time, with its last value in words. */
export function TelemetryChart({ series, unit }: { series: Series; unit: string }) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const name = series.component === null ? series.name : `${series.component}.${series.name}`;
  const data = useEffectEvent((): uPlot.AlignedData => [series.times, series.values]);

  useEffect(() => {
    const place = host.current;
    if (place === null) return;
    const made = new uPlot(optionsOf(place), data(), place);
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
    plot.current?.setData([series.times, series.values]);
  }, [series]);

  const last = series.values.at(-1) ?? 0;
  return (
    <figure className="inspector-chart" aria-label={`Telemetry ${name}`}>
      <figcaption>
        {name}
        <strong>
          {last.toLocaleString([], { maximumFractionDigits: 4 })} {unit}
        </strong>
      </figcaption>
      <div ref={host} className="inspector-plot" aria-hidden />
    </figure>
  );
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
    // One value alone, or some at once, would be a line of years.
    scales: { x: { range: (_plot, from, to) => [Math.min(from, to - SHORTEST), to] } },
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
