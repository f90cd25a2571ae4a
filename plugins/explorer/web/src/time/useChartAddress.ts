import { useCallback } from "react";
import { useLocation } from "wouter";

import { routeOf } from "../app/addresses";
import { useNotices } from "../app/notices";
import { useSession } from "../session/session";
import { useChart } from "./chartStore";
import { EMPTY_CHART, MOST_SERIES, renderRequest, type SeriesName } from "./request";

/** Show a chart of these series, of the span that was chosen last. */
export function useShowChart(): (series: readonly SeriesName[]) => void {
  const { graphId } = useSession();
  const [, navigate] = useLocation();
  return useCallback(
    (series) => {
      const { request, open, set } = useChart.getState();
      open(graphId);
      const next = { ...EMPTY_CHART, range: request.range, series: series.slice(0, MOST_SERIES) };
      set(next);
      navigate(routeOf(graphId, "chart") + renderRequest(next));
    },
    [graphId, navigate],
  );
}

/** Add series to the chart that is being made; where it is looked at, they are in it at once. */
export function useAddToChart(): (series: readonly SeriesName[]) => void {
  const { graphId } = useSession();
  const [path, navigate] = useLocation();
  const isShown = path.startsWith(routeOf(graphId, "chart"));
  return useCallback(
    (series) => {
      const { say, sayError } = useNotices.getState();
      const { open, add } = useChart.getState();
      open(graphId);
      if (!add(series)) {
        sayError(new Error(`A chart has at most ${MOST_SERIES} series. Take one out of it first.`));
        return;
      }
      const { request } = useChart.getState();
      const count = request.series.length;
      if (isShown) navigate(routeOf(graphId, "chart") + renderRequest(request), { replace: true });
      else say(`The chart has ${count} series now: see the view Chart.`);
    },
    [graphId, isShown, navigate],
  );
}
