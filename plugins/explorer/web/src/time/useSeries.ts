import { useQueries, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";

import { listenToChanges } from "../live/LiveConnection";
import type { ModelIndex } from "../models/index";
import { useModels } from "../models/useModels";
import { useSession } from "../session/session";
import { contentAt } from "./contents";
import { readSeries } from "./read";
import { readStep, spanOf, type ChartRequest, type SeriesName } from "./request";
import { NO_VALUES, type Values } from "./values";

/** A series as far as it is read. */
export interface ShownSeries {
  name: SeriesName;
  /** What the twin is called; its id until it is known, or where it has no name. */
  twinName: string;
  unit: string;
  values: Values;
  error: Error | null;
  isLoading: boolean;
}

/** What changes is read at most so often, in milliseconds. */
const PAUSE = 1000;
/** A span that goes on is moved at least so often. */
const LONGEST_PAUSE = 60_000;

/** The series of a chart, read anew as their twins change and time goes on; `now` is its end. */
export function useSeries(request: ChartRequest): { series: ShownSeries[]; now: number } {
  const { graph, graphId, may } = useSession();
  const { index } = useModels();
  const { range, step, aggregate } = request;
  const isAllowed = may("digitaltwins/read");
  const goesOn = range.kind === "last";
  const twins = useQueries({
    queries: request.series.map(({ twin }) => ({
      queryKey: ["twin", graphId, twin],
      queryFn: ({ signal }: { signal: AbortSignal }) => graph.readTwin(twin, signal),
      enabled: isAllowed,
    })),
  });
  const models = twins.map((one) => one.data?.$metadata.$model ?? null);
  const read = useQueries({
    queries: request.series.map((name, at) => {
      const model = models[at] ?? null;
      const holds = holdsValue(model, name, index);
      return {
        queryKey: ["series", graphId, name.twin, name.path, range, step, aggregate, holds],
        queryFn: async ({ signal }: { signal: AbortSignal }) => {
          const now = Date.now();
          const asked = { ...spanOf(range, now), step, aggregate };
          return { now, values: await readSeries(graph, name, asked, holds, signal) };
        },
        // A deleted twin keeps its series.
        enabled: isAllowed && !(twins[at]?.isLoading ?? false),
        refetchInterval: goesOn ? paceOf(range.span) : (false as const),
        placeholderData: <Data>(before: Data | undefined) => before,
      };
    }),
  });
  useReadAnew(
    request.series.map((one) => one.twin),
    goesOn,
    PAUSE,
  );
  const series = request.series.map((name, at): ShownSeries => {
    const twin = twins[at]?.data;
    const label = twin?.["name"];
    return {
      name,
      twinName: typeof label === "string" && label.trim() !== "" ? label : name.twin,
      unit: contentAt(twin?.$metadata.$model ?? null, name.path, index)?.unit ?? "",
      values: read[at]?.data?.values ?? NO_VALUES,
      error: read[at]?.error ?? null,
      isLoading: read[at]?.isLoading ?? true,
    };
  });
  const now = Math.max(0, ...read.map((one) => one.data?.now ?? 0));
  return { series, now };
}

function paceOf(span: string): number {
  return Math.min(LONGEST_PAUSE, Math.max(PAUSE * 5, (readStep(span) ?? 0) / 300));
}

/** A property holds its value; telemetry was measured at its time. */
function holdsValue(model: string | null, { path }: SeriesName, index: ModelIndex): boolean {
  return contentAt(model, path, index)?.kind !== "Telemetry";
}

/** Has the series of twins read again once they have changed, at most once in `pause`. */
export function useReadAnew(ids: readonly string[], goesOn: boolean, pause: number): void {
  const { graphId } = useSession();
  const client = useQueryClient();
  const names = ids.join("\n");
  const twins = useMemo(() => new Set(names.split("\n")), [names]);
  useEffect(() => {
    if (!goesOn) return;
    let changed = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = listenToChanges((changes) => {
      for (const one of changes) {
        if ((one.kind === "twin" || one.kind === "telemetry") && twins.has(one.id)) {
          changed.add(one.id);
        }
      }
      if (changed.size === 0) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        const lot = changed;
        changed = new Set();
        for (const id of lot) {
          void client.invalidateQueries({ queryKey: ["series", graphId, id] });
        }
      }, pause);
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [client, graphId, twins, goesOn, pause]);
}
