import { create } from "zustand";

import { addSeries, EMPTY_CHART, MOST_SERIES, type ChartRequest, type SeriesName } from "./request";

interface ChartState {
  /** The graph whose chart it is. */
  graphId: string;
  request: ChartRequest;
  /** Take up the graph that is looked at: a chart is of one. */
  open(graphId: string): void;
  set(part: Partial<ChartRequest>): void;
  /** Add series; false where the chart has room for none of them. */
  add(more: readonly SeriesName[]): boolean;
}

/** The chart that is being made, whichever view is looked at. */
export const useChart = create<ChartState>((set, get) => ({
  graphId: "",
  request: EMPTY_CHART,
  open: (graphId) => {
    if (get().graphId !== graphId) set({ graphId, request: EMPTY_CHART });
  },
  set: (part) => set(({ request }) => ({ request: { ...request, ...part } })),
  add: (more) => {
    const { request } = get();
    const next = addSeries(request, more);
    if (next.series.length === request.series.length && next.series.length >= MOST_SERIES) {
      return false;
    }
    set({ request: next });
    return true;
  },
}));
