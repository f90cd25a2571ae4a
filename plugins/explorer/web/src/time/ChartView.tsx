import { useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";

import { routeOf } from "../app/addresses";
import { useIsNarrow } from "../app/media";
import { useFragment } from "../app/search";
import { useSession } from "../session/session";
import { ChartToolbar } from "./ChartToolbar";
import { useChart } from "./chartStore";
import { EMPTY_CHART, readRequest, renderRequest, type ChartRequest } from "./request";
import { ShownChart } from "./SeriesChart";
import { SeriesPicker } from "./SeriesPicker";
import { useAddToChart } from "./useChartAddress";
import { useSeries } from "./useSeries";

/** A chart of several series. Its address says all of it, so that it can be shared. */
export default function ChartView() {
  const { graphId } = useSession();
  const narrow = useIsNarrow();
  const [drawing, setDrawing] = useState<HTMLCanvasElement | null>(null);
  const { request, change } = useRequest();
  const add = useAddToChart();
  const shown = useSeries(request);
  return (
    <section className="time-view" aria-label="Chart of values over time" key={graphId}>
      <ChartToolbar
        request={request}
        now={shown.now}
        onChange={change}
        drawing={drawing}
        shown={shown.series}
      />
      {request.series.length === 0 ? (
        <p className="time-none muted">
          The chart is empty. Press a line beside a number in the inspector, or add a value of a
          twin here.
        </p>
      ) : (
        <ShownChart
          request={request}
          shown={shown}
          height={narrow ? 230 : 380}
          isSmall={narrow}
          onZoom={(from, to) => change({ range: { kind: "between", from, to } }, true)}
          onRemove={(name) => change({ series: request.series.filter((one) => one !== name) })}
          onDrawing={setDrawing}
        />
      )}
      <SeriesPicker onAdd={(one) => add([one])} />
    </section>
  );
}

/** The chart of the address, or where it has none that which was made before; and how to change it. */
function useRequest(): {
  request: ChartRequest;
  change(part: Partial<ChartRequest>, leadsBack?: boolean): void;
} {
  const { graphId } = useSession();
  const [, navigate] = useLocation();
  const fragment = useFragment();
  const kept = useChart((state) => (state.graphId === graphId ? state.request : EMPTY_CHART));
  const named = useMemo(() => readRequest(fragment), [fragment]);
  const request = named ?? kept;
  const base = routeOf(graphId, "chart");
  useEffect(() => {
    useChart.getState().open(graphId);
    const { request: made, set } = useChart.getState();
    if (named !== null) set(named);
    else if (made.series.length > 0) navigate(base + renderRequest(made), { replace: true });
  }, [base, graphId, named, navigate]);
  const change = (part: Partial<ChartRequest>, leadsBack = false): void => {
    const next = { ...request, ...part };
    useChart.getState().set(next);
    const written = next.series.length === 0 ? "" : renderRequest(next);
    navigate(base + written, { replace: !leadsBack });
  };
  return { request, change };
}
