import { create } from "zustand";

import type { Json } from "../api/types";
import type { Change } from "./changes";
import type { LiveState } from "./stream";

/** How long what has changed is lit, in milliseconds. */
export const LIT = 2500;
const MOST_POINTS = 600;
const MOST_SERIES = 200;

/** A numeric telemetry of a twin as it came in: seconds since the epoch, and values. */
export interface Series {
  name: string;
  component: string | null;
  times: number[];
  values: number[];
}

export interface LiveStore {
  state: LiveState;
  /** Why there is no stream, where the service refused it. */
  why: string | null;
  /** What is lit, by `keyOf`: the JSON pointers that changed; an empty set is all of it. */
  lit: ReadonlyMap<string, ReadonlySet<string>>;
  /** By twin, then by component and name. */
  telemetry: ReadonlyMap<string, ReadonlyMap<string, Series>>;
}

export const useLive = create<LiveStore>(() => ({
  state: "off",
  why: null,
  lit: new Map(),
  telemetry: new Map(),
}));

/** The key of what a change is of: the id of a twin or model, or source and id of a relationship. */
export function keyOf(change: Change): string {
  return change.kind === "relationship" ? `${change.sourceId}\n${change.id}` : change.id;
}

const until = new Map<string, number>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** Lights what has changed, and keeps the telemetry. */
export function takeChanges(changes: readonly Change[], now = Date.now()): void {
  const state = useLive.getState();
  const lit = new Map(state.lit);
  let { telemetry } = state;
  for (const change of changes) {
    if (change.kind === "telemetry") {
      telemetry = addTelemetry(telemetry, change);
      continue;
    }
    const key = keyOf(change);
    const paths = change.kind === "model" ? [] : change.paths;
    lit.set(key, new Set([...(lit.get(key) ?? []), ...paths]));
    until.set(key, now + LIT);
  }
  useLive.setState({ lit, telemetry });
  timer ??= setTimeout(darken, LIT);
}

function darken(): void {
  timer = undefined;
  const now = Date.now();
  const lit = new Map(useLive.getState().lit);
  for (const [key, end] of until) {
    if (end > now) continue;
    until.delete(key);
    lit.delete(key);
  }
  useLive.setState({ lit });
  if (until.size > 0) timer = setTimeout(darken, Math.max(50, Math.min(...until.values()) - now));
}

type Telemetry = LiveStore["telemetry"];

/** Numbers are kept, of objects those in them; the oldest points and twins go first. */
export function addTelemetry(
  telemetry: Telemetry,
  change: Extract<Change, { kind: "telemetry" }>,
): Telemetry {
  const numbers = listNumbers(change.values);
  const time = Date.parse(change.time) / 1000;
  if (numbers.length === 0 || Number.isNaN(time)) return telemetry;
  const all = new Map(telemetry);
  const series = new Map(all.get(change.id));
  for (const [name, value] of numbers) {
    const key = `${change.component ?? ""}/${name}`;
    const { times, values } = series.get(key) ?? { times: [], values: [] };
    // NOTE: what was measured earlier may come later; a chart goes by when it was measured.
    const place = times.findLastIndex((one) => one <= time) + 1;
    series.set(key, {
      name,
      component: change.component,
      times: times.toSpliced(place, 0, time).slice(-MOST_POINTS),
      values: values.toSpliced(place, 0, value).slice(-MOST_POINTS),
    });
  }
  all.delete(change.id);
  all.set(change.id, series);
  const oldest = all.keys().next();
  if (all.size > MOST_SERIES && !oldest.done) all.delete(oldest.value);
  return all;
}

function listNumbers(value: Json, path: readonly string[] = []): [string, number][] {
  // A chart is drawn of doubles.
  if (typeof value === "number" || typeof value === "bigint") {
    return [[path.join("."), Number(value)]];
  }
  if (typeof value === "boolean") return [[path.join("."), value ? 1 : 0]];
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, one]) => listNumbers(one, [...path, name]));
}
