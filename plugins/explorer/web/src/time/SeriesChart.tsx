import { useMemo, useState } from "react";
import { create, type StoreApi, type UseBoundStore } from "zustand";

import { ApiError } from "../api/errors";
import { Waiting } from "../app/Waiting";
import { Legend } from "./Legend";
import { Plot, type Line } from "./Plot";
import { keyOfSeries, spanOf, type ChartRequest, type SeriesName } from "./request";
import { useSeries, type ShownSeries } from "./useSeries";

export type Cursor = UseBoundStore<StoreApi<{ time: number | null }>>;

interface Props {
  request: ChartRequest;
  height: number;
  /** Whether there is little room: the legend has names and last values alone. */
  isSmall?: boolean;
  /** Hears of a span that was marked in the drawing, in milliseconds since 1970. */
  onZoom?(from: number, to: number): void;
  /** Takes a series out; without it none can be. */
  onRemove?(name: SeriesName): void;
  onDrawing?(drawing: HTMLCanvasElement | null): void;
}

/** Series of values over time, as a drawing with a legend that says the same in words. */
export default function SeriesChart({ request, ...how }: Props) {
  return <ShownChart request={request} shown={useSeries(request)} {...how} />;
}

/** The same of series that whoever shows it has read, as to save them too. */
export function ShownChart(props: Props & { shown: { series: ShownSeries[]; now: number } }) {
  const { request, shown, height, isSmall = false, onZoom, onRemove, onDrawing } = props;
  const { series, now } = shown;
  const [cursor] = useState<Cursor>(() => create(() => ({ time: null as number | null })));
  const { from, to } = spanOf(request.range, now);
  const lines = useLines(series);
  if (series.length > 0 && series.every((one) => one.isLoading)) {
    return <Waiting label="Reading the values" />;
  }
  const untold = series.find(({ error }) => error instanceof ApiError && error.status === 501);
  if (untold !== undefined && series.every((one) => one.error !== null)) {
    return <p className="time-none muted">{NO_HISTORY}</p>;
  }
  return (
    <div className="time-chart">
      <Plot
        lines={lines}
        from={from / 1000}
        to={to / 1000}
        limit={request.limit}
        height={height}
        onZoom={onZoom === undefined ? undefined : (low, high) => onZoom(low * 1000, high * 1000)}
        onCursor={(time) => cursor.setState({ time })}
        onDrawing={onDrawing}
      />
      <Legend
        series={series}
        limit={request.limit}
        to={to / 1000}
        isSmall={isSmall}
        cursor={cursor}
        onRemove={onRemove}
      />
    </div>
  );
}

export const NO_HISTORY = "This graph keeps no history, so there are no values over time.";

/** PERF: the same lines as long as their values are the same, so that the drawing stays. */
function useLines(series: readonly ShownSeries[]): readonly Line[] {
  const [kept, keep] = useState<readonly Line[]>([]);
  const lines = useMemo(
    () =>
      series.map(({ name, twinName, unit, values }): Line => ({
        key: keyOfSeries(name),
        label: `${twinName} ${name.path}`,
        unit,
        values,
      })),
    [series],
  );
  const isSame =
    kept.length === lines.length &&
    kept.every((one, at) => {
      const other = lines[at];
      return one.key === other?.key && one.unit === other.unit && one.values === other.values;
    });
  if (isSame) return kept;
  keep(lines);
  return lines;
}
