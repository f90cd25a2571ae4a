import { useQueries } from "@tanstack/react-query";

import { ApiError } from "../api/errors";
import type { Series } from "../live/store";
import type { ContentInfo } from "../models/index";
import { useSession } from "../session/session";
import { useMoment } from "../time/moment";
import { readSeries } from "../time/read";
import { useReadAnew } from "../time/useSeries";
import type { Values } from "../time/values";
import { pointerOf } from "./document";

/** Of so long ago what is kept is shown, in milliseconds. */
const SPAN = 24 * 3_600_000;
/** Points that arrive are read again at most so often, in milliseconds. */
const PAUSE = 5000;

/** The path of a series of telemetry, such as `climate/reading`. */
export function pathOf({ component, name }: Pick<Series, "component" | "name">): string {
  const names = name.split(".");
  return pointerOf(...(component === null ? names : [component, ...names])).slice(1);
}

/** The points of a series that are kept, and behind them those that came in since. */
export function joinSeries(
  of: Pick<Series, "name" | "component">,
  kept: Pick<Values, "times" | "values"> | undefined,
  live: Series | undefined,
): Series {
  const times: number[] = [];
  const values: number[] = [];
  kept?.values.forEach((value, at) => {
    const time = kept.times[at];
    if (value === null || time === undefined) return;
    times.push(time);
    values.push(value);
  });
  const last = times.at(-1) ?? -Infinity;
  live?.times.forEach((time, at) => {
    const value = live.values[at];
    if (time <= last || value === undefined) return;
    times.push(time);
    values.push(value);
  });
  return { name: of.name, component: of.component, times, values };
}

interface Stored {
  /** The points of the last day by the key of their series, as `useLive` has them. */
  kept: ReadonlyMap<string, Values>;
  /** Why nothing is kept; null where that is not so. */
  why: string | null;
  isLoading: boolean;
}

/** What is kept of the telemetry that a twin may send. */
export function useStored(
  id: string,
  offered: ReadonlyMap<string, readonly ContentInfo[]>,
): Stored {
  const { graph, graphId, may } = useSession();
  const asOf = useMoment((state) => state.asOf);
  const asked = [...offered].flatMap(([component, contents]) =>
    contents.map(({ name }) => ({ component: component === "" ? null : component, name })),
  );
  useReadAnew([id], asOf === null, PAUSE);
  const read = useQueries({
    queries: asked.map((one) => ({
      queryKey: ["series", graphId, id, "kept", pathOf(one), asOf],
      queryFn: ({ signal }: { signal: AbortSignal }) => {
        const to = asOf ?? Date.now();
        const within = { from: to - SPAN, to, step: null, aggregate: "avg" as const };
        return readSeries(graph, { twin: id, path: pathOf(one) }, within, false, signal);
      },
      enabled: may("digitaltwins/read"),
      // Of what was never sent there is no series, which is no error here.
      retry: false,
      placeholderData: <Data>(before: Data | undefined) => before,
    })),
  });
  const refused = read.find(({ error }) => error instanceof ApiError && error.status === 501);
  return {
    kept: new Map(
      asked.flatMap(({ component, name }, at): [string, Values][] => {
        const values = read[at]?.data;
        return values === undefined || values.times.length === 0
          ? []
          : [[`${component ?? ""}/${name}`, values]];
      }),
    ),
    why: refused?.error?.message ?? null,
    isLoading: read.some((one) => one.isLoading),
  };
}
