import { create } from "zustand";

import { ApiError, isUnknown } from "../api/errors";
import type { GraphClient } from "../api/graph";
import type { JsonObject, QueryPage, StatementPage } from "../api/types";
import { queryClient } from "../app/queryClient";
import { usePicture } from "../picture/store";
import { collectDocuments, isGraph } from "../results/documents";
import { isExplanation, readExplained, readSteps } from "../results/explain/plan";
import { forgetGone } from "../results/gone";
import { beginSince } from "../results/since";
import { NO_RESULT, useResults, type ResultView } from "../results/store";
import { askForPlan, asksForPlan, findKind, type StatementKind } from "./tokens";

/** Rows of a page. PERF: enough for a screen at once, so that the first rows come soon. */
export const PAGE_SIZE = 500;

/** How many rows «all» fetches at a time: those the page holds and draws without trouble. */
export const ROWS_LIMIT = 100_000;

const IN_TRANSACTIONS = /\bIN\s+TRANSACTIONS\b/i;

export interface Question {
  graph: GraphClient;
  graphId: string;
  text: string;
  parameters: JsonObject;
}

/** A statement that writes, and what it would do: it waits for somebody to say yes. */
export interface Pending {
  question: Question;
  /** What its rehearsal answered; null where it could not be rehearsed. */
  rehearsed: StatementPage | null;
  /** Why it could not be rehearsed. */
  error: unknown;
}

/** The statement that waits; null for none. */
export const usePending = create<{ pending: Pending | null }>(() => ({ pending: null }));

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
  const { graphId, text, parameters } = question;
  const explains = asksForPlan(text);
  const kind = findKind(text);
  if (kind === "writes" && !explains) {
    await rehearse(question);
    return null;
  }
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
    failedAs: "",
    warnings: [],
    cancelled: false,
  });
  try {
    const page = await send(question, kind, controller.signal);
    if (current !== controller) return null;
    if (useResults.getState().graphId !== graphId) return null; // another graph is looked at
    const { milliseconds, warnings } = page;
    if (explains) finish({ ...planOf(page, text), warnings });
    else {
      const { explained, number } = useResults.getState();
      const own = { ...NO_RESULT, ...rowsOf(page), warnings, query: text, parameters };
      const suited = findView(page.value);
      finish({ ...own, asked: text, explained, number: number + 1, view: suited });
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

/** How rows are shown: a graph as one, unless somebody wants the table; nothing else goes to a graph. */
function findView(rows: JsonObject[]): ResultView {
  const { view, keepsTable } = useResults.getState();
  if (view === "table") return isGraph(rows) && !keepsTable ? "graph" : view;
  if (view !== "graph" || usePicture.getState().overlays) return view;
  const { twins, relationships } = collectDocuments(rows);
  return rows.length > 0 && twins.length + relationships.length === 0 ? "table" : view;
}

/** A query is sent as the vendor has it; what calls procedures goes where statements go. */
function send(question: Question, kind: StatementKind, signal: AbortSignal): Promise<QueryPage> {
  const { graph, text, parameters } = question;
  return kind === "reads"
    ? graph.query(text, { parameters, pageSize: PAGE_SIZE, signal })
    : graph.runStatement(text, { parameters, signal });
}

/** Runs a statement that writes without keeping anything, and asks whether to run it. */
async function rehearse(question: Question): Promise<void> {
  const { graph, graphId, text, parameters } = question;
  const { set, rows, earlier } = useResults.getState();
  const controller = begin();
  usePending.setState({ pending: null });
  const since = performance.now();
  const begun = { running: true, activity: "running" as const, since };
  set({ ...begun, graphId, asked: text, earlier: rows.length > 0, error: null, cancelled: false });
  set({ warnings: [], failedAs: "" });
  try {
    const { signal } = controller;
    const rehearsed = await graph.runStatement(text, { parameters, rehearse: true, signal });
    if (current !== controller || useResults.getState().graphId !== graphId) return;
    finish({ earlier });
    usePending.setState({ pending: { question, rehearsed, error: null } });
  } catch (error) {
    // Its transactions may be within the limits where all of it at once is not.
    const beyond = error instanceof ApiError && /^(?:LimitExceeded|TimeoutError)$/.test(error.code);
    if (IN_TRANSACTIONS.test(text) && beyond && current === controller) {
      finish({ earlier });
      usePending.setState({ pending: { question, rehearsed: null, error } });
    } else fail(controller, error, "Refused: nothing was changed");
  }
}

/** Runs a statement that writes, as somebody has said. Its rows take the place of those there. */
export async function runPending({ question }: Pending): Promise<Outcome | null> {
  const { graph, text, parameters } = question;
  const { set, rows, view } = useResults.getState();
  const controller = begin();
  takeBack?.();
  takeBack = null;
  const since = performance.now();
  set({ running: true, activity: "running", since, error: null, earlier: rows.length > 0 });
  set({ view: view === "plan" ? "table" : view, asked: text, cancelled: false });
  try {
    const page = await graph.runStatement(text, { parameters, signal: controller.signal });
    if (current !== controller) return null;
    const { explained, number } = useResults.getState();
    const { milliseconds, statistics } = page;
    const own = { ...NO_RESULT, ...rowsOf(page), statistics, query: text, parameters };
    finish({ ...own, asked: text, explained, number: number + 1 });
    return { rows: page.value.length, more: false, milliseconds };
  } catch (error) {
    const told = controller.signal.aborted
      ? new ApiError(0, "NoAnswer", "The connection was closed before the service answered.")
      : error;
    if (current === controller) finish({ error: told, failedAs: nameFailure(told, text) });
    return null;
  } finally {
    // Whatever became of it: what was read before may be old now.
    for (const kind of ["counts", "relationships", "incoming", "twin", "relationship"]) {
      void queryClient.invalidateQueries({ queryKey: [kind, question.graphId] });
    }
  }
}

function nameFailure(error: unknown, text: string): string {
  if (isUnknown(error)) return "No answer: it is not known whether it was done";
  return IN_TRANSACTIONS.test(text)
    ? "It failed: what its transactions had done before is kept"
    : "It failed: nothing was changed";
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

function fail(controller: AbortController, error: unknown, failedAs = ""): void {
  // Another query has taken its place and tells for itself.
  if (current !== controller) return;
  const cancelled = controller.signal.aborted;
  finish({ error: cancelled ? null : error, cancelled, failedAs });
}

function rowsOf(page: QueryPage) {
  const { value: rows, continuationToken, charge, milliseconds } = page;
  return { rows, continuationToken, charge, milliseconds };
}

function planOf(page: QueryPage, text: string) {
  const [row] = page.value;
  const view = "plan" as const;
  if (isExplanation(row)) return { explained: readExplained(row, text, page.milliseconds), view };
  const explained = readSteps(page.value, text, page.milliseconds);
  if (explained === null) throw new Error("The service answered without a plan.");
  return { explained, view };
}

function add(one: number | null, other: number | null): number | null {
  return one === null ? other : one + (other ?? 0);
}
