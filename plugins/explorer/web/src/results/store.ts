import { create } from "zustand";

import type { JsonObject, QueryWarning } from "../api/types";

export type ResultView = "table" | "json" | "graph";

/** The rows of the last query as far as they were fetched. */
export interface ResultState {
  query: string;
  rows: JsonObject[];
  continuationToken: string | null;
  warnings: QueryWarning[];
  charge: number | null;
  milliseconds: number | null;
  running: boolean;
  error: unknown;
  view: ResultView;
  set(part: Partial<Omit<ResultState, "set">>): void;
}

export const useResults = create<ResultState>((set) => ({
  query: "",
  rows: [],
  continuationToken: null,
  warnings: [],
  charge: null,
  milliseconds: null,
  running: false,
  error: null,
  view: "table",
  set: (part) => set(part),
}));
