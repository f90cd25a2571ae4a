import { useQuery } from "@tanstack/react-query";
import { createContext, useContext, useMemo, type ReactNode } from "react";

import type { Twin } from "../api/types";
import { useModels } from "../models/useModels";
import { useSession } from "../session/session";
import { useChart } from "./chartStore";
import { contentAt, listPaths } from "./contents";
import { readSparks } from "./read";
import { EMPTY_CHART, spanOf } from "./request";
import { useReadAnew } from "./useSeries";
import { isConstant, type Values } from "./values";

interface Sparks {
  twin: string;
  /** The span that they are of, such as `24h`. */
  span: string;
  /** By path; those alone that changed. */
  values: ReadonlyMap<string, Values>;
  /** By path, of those that have one. */
  units: ReadonlyMap<string, string>;
}

const SparksContext = createContext<Sparks | null>(null);

/** What is looked at is read again at most so often, in milliseconds. */
const PAUSE = 3000;
const NONE: ReadonlyMap<string, Values> = new Map();

/** Gives the fields below it what they need to show their values over time. */
export function SparksOf({ twin, children }: { twin: Twin; children: ReactNode }) {
  const { graph, graphId, may } = useSession();
  const { index } = useModels();
  const range = useChart((state) => state.request.range);
  const span = range.kind === "last" ? range.span : "24h";
  const id = twin.$dtId;
  const model = twin.$metadata.$model;
  const written = listPaths(twin, index).join("\n");
  const { data = NONE } = useQuery({
    queryKey: ["series", graphId, id, "sparks", span, written],
    queryFn: ({ signal }) => {
      const within = spanOf({ ...EMPTY_CHART.range, kind: "last", span }, Date.now());
      return readSparks(graph, id, written.split("\n"), within, signal);
    },
    enabled: written !== "" && may("query/read") && may("digitaltwins/read"),
    // Where no history is kept there are none, which is no error here.
    retry: false,
  });
  useReadAnew([id], true, PAUSE);
  const sparks = useMemo(() => {
    const moving = [...data].filter(([, values]) => !isConstant(values));
    const units = moving.flatMap(([path]): [string, string][] => {
      const unit = contentAt(model, path, index)?.unit;
      return unit === undefined ? [] : [[path, unit]];
    });
    return { twin: id, span, values: new Map(moving), units: new Map(units) };
  }, [id, span, data, model, index]);
  return <SparksContext value={sparks}>{children}</SparksContext>;
}

/** The values over time within a path of the twin that is shown. */
export function useSparks(path: string): { path: string; values: Values }[] {
  const sparks = useContext(SparksContext);
  if (sparks === null) return [];
  return [...sparks.values]
    .filter(([one]) => one === path || one.startsWith(`${path}/`))
    .map(([one, values]) => ({ path: one, values }));
}

/** Of which twin and span they are. */
export function useSparksOf(): Sparks | null {
  return useContext(SparksContext);
}
