/** The series of one value: of a twin, by names joined by `/`, as the service writes paths. */
export interface SeriesName {
  twin: string;
  path: string;
}

/** What a chart shows: the last `span`, up to now, or what lies between two moments. */
export type Range =
  | { kind: "last"; span: string }
  /** Milliseconds since 1970. */
  | { kind: "between"; from: number; to: number };

export const AGGREGATES = ["avg", "min", "max", "last", "first", "sum", "count"] as const;
export type Aggregate = (typeof AGGREGATES)[number];

export const COMPARISONS = [">", ">=", "<", "<="] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** A value that series are compared with, such as what is too warm. */
export interface Limit {
  comparison: Comparison;
  value: number;
}

/** All that a chart is made of; its address says it. */
export interface ChartRequest {
  series: readonly SeriesName[];
  range: Range;
  /** A step of time such as `5m`; null is chosen by the span: each value, or about 300 steps. */
  step: string | null;
  /** What is shown of a step. */
  aggregate: Aggregate;
  limit: Limit | null;
}

export const EMPTY_CHART: ChartRequest = {
  series: [],
  range: { kind: "last", span: "24h" },
  step: null,
  aggregate: "avg",
  limit: null,
};

/** More series than these are not told apart by their colours. */
export const MOST_SERIES = 16;

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** The milliseconds of a step of time, such as `5m`; null for another text. */
export function readStep(text: string): number | null {
  const [, count = "", unit = ""] = /^(\d+)(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  const found = Number(count) * (UNITS[unit] ?? 0);
  return found > 0 && Number.isSafeInteger(found) ? found : null;
}

const STEPS = ["1s", "5s", "10s", "30s", "1m", "2m", "5m", "10m", "15m", "30m", "1h", "2h"];
const LONG_STEPS = ["3h", "6h", "12h", "1d", "2d", "7d", "14d", "30d"];

/** A step of which about so many are in a span of milliseconds. */
export function chooseStep(span: number, count: number): string {
  const all = [...STEPS, ...LONG_STEPS];
  return all.find((one) => (readStep(one) ?? 0) * count >= span) ?? "30d";
}

/** From and to of a range, in milliseconds since 1970. */
export function spanOf(range: Range, now: number): { from: number; to: number } {
  if (range.kind === "between") return { from: range.from, to: range.to };
  return { from: now - (readStep(range.span) ?? 0), to: now };
}

/** The same series once more changes nothing. Whether it still fits is for the caller to see. */
export function addSeries(request: ChartRequest, more: readonly SeriesName[]): ChartRequest {
  const known = new Set(request.series.map(keyOfSeries));
  const fresh = more.filter((one) => !known.has(keyOfSeries(one)));
  return { ...request, series: [...request.series, ...fresh].slice(0, MOST_SERIES) };
}

/** No id of a twin has a slash, so that the first one ends it. */
export function keyOfSeries({ twin, path }: SeriesName): string {
  return `${twin}/${path}`;
}

/** The fragment of the address of a chart, with its `#`. */
export function renderRequest(request: ChartRequest): string {
  const { series, range, step, aggregate, limit } = request;
  const written = new URLSearchParams();
  for (const one of series) written.append("series", keyOfSeries(one));
  if (range.kind === "last") written.set("span", range.span);
  else {
    written.set("from", new Date(range.from).toISOString());
    written.set("to", new Date(range.to).toISOString());
  }
  if (step !== null) written.set("step", step);
  if (aggregate !== "avg") written.set("aggregate", aggregate);
  if (limit !== null) written.set("limit", `${limit.comparison}${limit.value}`);
  return `#${written}`;
}

/** What a fragment says; null where it names no series. What cannot be read of it is left out. */
export function readRequest(fragment: string): ChartRequest | null {
  const read = new URLSearchParams(fragment.slice(1));
  const series = read.getAll("series").flatMap((one) => {
    const at = one.indexOf("/");
    return at < 1 || at === one.length - 1
      ? []
      : [{ twin: one.slice(0, at), path: one.slice(at + 1) }];
  });
  if (series.length === 0) return null;
  const step = read.get("step") ?? "";
  return addSeries(
    {
      series: [],
      range: readRange(read),
      step: readStep(step) === null ? null : step,
      aggregate: AGGREGATES.find((one) => one === read.get("aggregate")) ?? "avg",
      limit: readLimit(read.get("limit") ?? ""),
    },
    series,
  );
}

function readRange(read: URLSearchParams): Range {
  const [from, to] = [Date.parse(read.get("from") ?? ""), Date.parse(read.get("to") ?? "")];
  if (from < to) return { kind: "between", from, to };
  const span = read.get("span") ?? "";
  return readStep(span) === null ? EMPTY_CHART.range : { kind: "last", span };
}

/** A limit as it is written, such as `>24`; null for another text. */
export function readLimit(text: string): Limit | null {
  const [, written, number = ""] = /^\s*(>=|<=|>|<)\s*(-?\d+(?:\.\d+)?)\s*$/.exec(text) ?? [];
  const comparison = COMPARISONS.find((one) => one === written);
  return comparison === undefined ? null : { comparison, value: Number(number) };
}

export function compares(value: number, { comparison, value: limit }: Limit): boolean {
  switch (comparison) {
    case ">":
      return value > limit;
    case ">=":
      return value >= limit;
    case "<":
      return value < limit;
    case "<=":
      return value <= limit;
  }
}
