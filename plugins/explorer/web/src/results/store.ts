import { create } from "zustand";

import type { JsonObject, QueryWarning, Statistics } from "../api/types";
import type { Explained } from "./explain/plan";
import type { Sort } from "./sorting";

export type ResultView = "table" | "json" | "graph" | "plan";

/** What is under way: the first page of a query, further ones, or nothing. */
export type Activity = "idle" | "running" | "more";

/** The rows of the last query as far as they were fetched. */
export interface ResultState {
  /** The graph that was asked; empty before the first query. */
  graphId: string;
  query: string;
  /** The very text that was sent last, for rows or for a plan: places of errors are counted in it. */
  asked: string;
  parameters: JsonObject;
  rows: JsonObject[];
  /** How many results there were, so that what is kept of one is not of the next. */
  number: number;
  /** Whether the rows are of an earlier query than the one asked last: it runs, or gave none. */
  earlier: boolean;
  /** How the table shows the rows. */
  sorting: Sort[];
  continuationToken: string | null;
  warnings: QueryWarning[];
  /** The sum of the charges of all pages so far. */
  charge: number | null;
  /** From the call to the first page. */
  milliseconds: number | null;
  running: boolean;
  activity: Activity;
  /** When what is under way began, by `performance.now`. */
  since: number;
  error: unknown;
  /** What became of the statement that failed, where it may write; empty of a query. */
  failedAs: string;
  /** What the statement changed whose rows are there; null of a query. */
  statistics: Statistics | null;
  /** Whether the query ended because the user said so. */
  cancelled: boolean;
  /** The plan that was asked for last, which stays beside the rows. */
  explained: Explained | null;
  view: ResultView;
  /** Whether somebody wants the table of a result that would open as a graph. */
  keepsTable: boolean;
  set(part: Partial<Omit<ResultState, "set">>): void;
}

export const NO_RESULT = {
  query: "",
  asked: "",
  parameters: {},
  rows: [],
  number: 0,
  earlier: false,
  sorting: [] as Sort[],
  continuationToken: null,
  warnings: [],
  charge: null,
  milliseconds: null,
  running: false,
  activity: "idle" as Activity,
  since: 0,
  error: null,
  failedAs: "",
  statistics: null,
  cancelled: false,
  explained: null,
};

export const useResults = create<ResultState>((set) => ({
  ...NO_RESULT,
  graphId: "",
  view: "table",
  keepsTable: false,
  set: (part) => set(part),
}));
