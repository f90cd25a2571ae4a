import { ApiError } from "../api/errors";
import type { GraphClient } from "../api/graph";
import type { Json, JsonObject } from "../api/types";
import { namesOf } from "../inspector/document";
import { quoteName } from "../query/names";
import { isObject } from "../results/documents";
import { chooseStep, type Aggregate, type SeriesName } from "./request";
import type { Values } from "./values";

/** So many values are shown as they are; of more, steps of time with an aggregate. */
export const MOST_VALUES = 1000;
/** About so many steps are shown of a span. */
const STEPS = 300;

export interface Asked {
  /** Milliseconds since 1970. */
  from: number;
  to: number;
  step: string | null;
  aggregate: Aggregate;
}

/**
 * The values of a series, those themselves if there are few. Throws `ApiError`: 404 where there is
 * no such series, 501 where the graph keeps no history.
 */
export async function readSeries(
  graph: GraphClient,
  name: SeriesName,
  asked: Asked,
  holds: boolean,
  signal?: AbortSignal,
): Promise<Values> {
  const { from, to, step, aggregate } = asked;
  const end = to / 1000;
  const build = (rows: readonly JsonObject[], member: string, of: string | null): Values =>
    buildValues(rows, member, of, { from: from / 1000, to: end, holds });
  const ask = (more: Record<string, string>, size: number) =>
    askFrom(graph, name, { from, to }, more, size, signal);
  if (step === null) {
    const { value, nextLink } = await ask({}, MOST_VALUES);
    if (nextLink === null) return build(value, "value", null);
  }
  const every = step ?? chooseStep(to - from, STEPS);
  const { value } = await ask({ every, aggregate }, MOST_VALUES);
  return build(value, aggregate, every);
}

interface SeriesPage {
  value: JsonObject[];
  nextLink: string | null;
}

/** What is kept of a span: where the history begins later, what there is since then. */
async function askFrom(
  graph: GraphClient,
  { twin, path }: SeriesName,
  { from, to }: { from: number; to: number },
  more: Record<string, string>,
  size: number,
  signal?: AbortSignal,
): Promise<SeriesPage> {
  const part = encodeURIComponent;
  return askKept(from, to, (start) => {
    const query = new URLSearchParams({ from: start, to: new Date(to).toISOString(), ...more });
    return graph.http.json(`/digitaltwins/${part(twin)}/series/${part(path)}?${query}`, {
      headers: { "max-items-per-page": String(size) },
      signal,
    });
  });
}

/** Asks from a moment on (ISO 8601), or from the first that is kept. */
async function askKept<Found>(
  from: number,
  to: number,
  ask: (start: string) => Promise<Found>,
): Promise<Found> {
  try {
    return await ask(new Date(from).toISOString());
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 410) throw error;
    const first = readFirstKept(error.message);
    if (first === null || Date.parse(first) >= to) throw error;
    // Of the moment itself the state before it is not kept.
    return ask(new Date(Date.parse(first) + 1).toISOString());
  }
}

/** The first moment that can be had, as the error `HistoryNotKept` says it. */
export function readFirstKept(message: string): string | null {
  return / is of (\d{4}-\d\d-\d\dT[\d:.]+Z), position /.exec(message)?.[1] ?? null;
}

interface Within {
  /** Seconds since 1970. */
  from: number;
  to: number;
  holds: boolean;
}

/** Booleans are 1 and 0, so that a chart shows when an alarm was true; texts are left out. */
export function buildValues(
  rows: readonly JsonObject[],
  member: string,
  step: string | null,
  { from, to, holds }: Within,
): Values {
  const times: number[] = [];
  const values: (number | null)[] = [];
  for (const row of rows) {
    const time = Date.parse(String(row["time"])) / 1000;
    const value = numberOf(row[member]);
    if (Number.isNaN(time) || value === undefined) continue;
    // What held at the beginning was written before it.
    times.push(Math.max(time, from));
    values.push(value);
  }
  const last = values.at(-1);
  if (holds && step === null && last !== undefined && (times.at(-1) ?? to) < to) {
    times.push(to);
    values.push(last);
  }
  return { times, values, step, holds };
}

function numberOf(value: Json | undefined): number | null | undefined {
  if (value === null) return null;
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  return typeof value === "boolean" ? Number(value) : undefined;
}

/** So many series of a twin are asked for at once. */
const MOST_SPARKS = 40;
/** About so many steps make a line of a few pixels. */
const SPARK_STEPS = 48;

/** A line of fewer steps is read again of the time alone since which there are values, */
const FEWEST_STEPS = 5;
/** at most so often: from a day that is to seconds. */
const MOST_LOOKS = 4;

interface Span {
  from: number;
  to: number;
}

/**
 * The averages of many series of a twin over steps of time, by their paths; those without values
 * are left out. PERF: one query, however many there are, and some more where they began lately.
 */
export async function readSparks(
  graph: GraphClient,
  twin: string,
  paths: readonly string[],
  span: Span,
  signal?: AbortSignal,
): Promise<Map<string, Values>> {
  const found = new Map<string, Values>();
  let names: readonly string[] = paths.slice(0, MOST_SPARKS);
  let { from } = span;
  for (let look = 1; look <= MOST_LOOKS && names.length > 0; look++) {
    const closer = await askSparks(graph, twin, names, { from, to: span.to }, signal);
    for (const [path, values] of closer) found.set(path, values);
    const young = [...closer].filter(([, { times }]) => times.length < FEWEST_STEPS);
    names = young.map(([path]) => path);
    const next = Math.min(...young.map(([, { times }]) => (times[0] ?? 0) * 1000));
    if (next <= from || next >= span.to) break;
    from = next;
  }
  return found;
}

async function askSparks(
  graph: GraphClient,
  twin: string,
  paths: readonly string[],
  { from, to }: Span,
  signal?: AbortSignal,
): Promise<Map<string, Values>> {
  const columns = paths.map((path, at) => {
    const property = namesOf(`/${path}`).map(quoteName).join(".");
    return `series(t.${property}, $from, $to, $every, 'avg') AS s${at}`;
  });
  const every = chooseStep(to - from, SPARK_STEPS);
  const page = await askKept(from, to, (start) =>
    graph.query(`MATCH (t) WHERE t.$dtId = $id RETURN ${columns.join(", ")}`, {
      parameters: { id: twin, from: start, to: new Date(to).toISOString(), every },
      ...(signal === undefined ? {} : { signal }),
    }),
  );
  const [row = {}] = page.value;
  const within = { from: from / 1000, to: to / 1000, holds: true };
  return new Map(
    paths.flatMap((path, at): [string, Values][] => {
      const rows = row[`s${at}`];
      if (!Array.isArray(rows)) return [];
      const values = buildValues(rows.filter(isObject), "value", every, within);
      return values.times.length === 0 ? [] : [[path, values]];
    }),
  );
}
