import type { GraphClient } from "../api/graph";
import type { JsonObject, QueryPage } from "../api/types";
import { isExplanation, readExplained } from "../results/explain/plan";
import { forgetGone } from "../results/gone";
import { beginSince } from "../results/since";
import { NO_RESULT, useResults } from "../results/store";
import { askForPlan, asksForPlan } from "./tokens";

/** Rows of a page. PERF: enough for a screen at once, so that the first rows come soon. */
export const PAGE_SIZE = 500;

/** How many rows «all» fetches at most: those the page holds and draws without trouble. */
export const ROWS_LIMIT = 100_000;

export interface Question {
  graph: GraphClient;
  graphId: string;
  text: string;
  parameters: JsonObject;
}

/** What a run came to, for the history; null where it failed or was cancelled. */
export interface Outcome {
  rows: number;
  more: boolean;
  milliseconds: number;
}

let current: AbortController | null = null;
/** Takes back that the changes are counted since the query that runs. */
let takeBack: (() => void) | null = null;

/** Ends what is under way. The service ends the query when the connection goes. */
export function cancelQuery(): void {
  current?.abort();
}

/**
 * Asks for the first page, or for the plan where the text says EXPLAIN or PROFILE. Ends what ran before. The
 * rows that there are stay until others come.
 */
export async function runQuery(question: Question): Promise<Outcome | null> {
  const { graph, graphId, text, parameters } = question;
  const explains = asksForPlan(text);
  const { view, set, rows } = useResults.getState();
  const controller = begin();
  const shown = view === "plan" && !explains ? "table" : view;
  takeBack?.();
  takeBack = explains ? null : beginSince();
  const since = performance.now();
  set({
    ...(explains ? {} : { earlier: rows.length > 0, view: shown }),
    graphId,
    asked: text,
    running: true,
    activity: "running",
    since,
    error: null,
    warnings: [],
    cancelled: false,
  });
  try {
    const page = await graph.query(text, {
      parameters,
      pageSize: PAGE_SIZE,
      signal: controller.signal,
    });
    if (current !== controller) return null;
    if (useResults.getState().graphId !== graphId) return null; // another graph is looked at
    const { milliseconds, warnings } = page;
    if (explains) finish({ ...planOf(page, text), warnings });
    else {
      const { explained, number } = useResults.getState();
      const own = { ...NO_RESULT, ...rowsOf(page), warnings, query: text, parameters };
      finish({ ...own, asked: text, explained, number: number + 1 });
      forgetGone(since);
      takeBack = null;
    }
    return { rows: page.value.length, more: page.continuationToken !== null, milliseconds };
  } catch (error) {
    if (current === controller && !explains) takeBack?.();
    if (current === controller) takeBack = null;
    fail(controller, error);
    return null;
  }
}

/** The plan of a text, beside the rows that are there. */
export function explainQuery(question: Question): Promise<Outcome | null> {
  return runQuery({ ...question, text: askForPlan(question.text, "EXPLAIN") });
}

/** The plan of a text with what a run of it took. */
export function profileQuery(question: Question): Promise<Outcome | null> {
  return runQuery({ ...question, text: askForPlan(question.text, "PROFILE") });
}

/** Asks for the next page, or for all pages up to the limit of rows. */
export async function fetchMore(graph: GraphClient, upTo = 0): Promise<void> {
  const start = useResults.getState();
  if (start.continuationToken === null || start.activity !== "idle") return;
  const controller = begin();
  const begun = { activity: "more" as const, since: performance.now() };
  start.set({ ...begun, error: null, cancelled: false, earlier: false });
  try {
    do {
      const { rows, continuationToken, charge, query, parameters, set } = useResults.getState();
      if (continuationToken === null) break;
      const page = await graph.query(query, {
        parameters,
        continuationToken,
        // PERF: who asks for all gets fewer, larger pages.
        pageSize: upTo > 0 ? 2000 : PAGE_SIZE,
        signal: controller.signal,
      });
      if (current !== controller) return;
      set({
        rows: rows.concat(page.value),
        continuationToken: page.continuationToken,
        charge: add(charge, page.charge),
      });
    } while (useResults.getState().rows.length < upTo);
    finish({});
  } catch (error) {
    fail(controller, error);
  }
}

function begin(): AbortController {
  current?.abort();
  current = new AbortController();
  return current;
}

function finish(part: Parameters<ReturnType<typeof useResults.getState>["set"]>[0]): void {
  current = null;
  useResults.getState().set({ ...part, running: false, activity: "idle" });
}

function fail(controller: AbortController, error: unknown): void {
  // Another query has taken its place and tells for itself.
  if (current !== controller) return;
  const cancelled = controller.signal.aborted;
  finish({ error: cancelled ? null : error, cancelled });
}

function rowsOf(page: QueryPage) {
  const { value: rows, continuationToken, charge, milliseconds } = page;
  return { rows, continuationToken, charge, milliseconds };
}

function planOf(page: QueryPage, text: string) {
  const [row] = page.value;
  if (!isExplanation(row)) throw new Error("The service answered without a plan.");
  return { explained: readExplained(row, text, page.milliseconds), view: "plan" as const };
}

function add(one: number | null, other: number | null): number | null {
  return one === null ? other : one + (other ?? 0);
}
