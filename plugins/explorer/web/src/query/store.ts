import { create } from "zustand";

import {
  addEntry,
  addSaved,
  readHistory,
  readSaved,
  type HistoryEntry,
  type SavedQuery,
} from "./history";
import type { Outcome } from "./run";
import { readStored, storageKey, writeStored } from "./storage";

interface QueryState {
  /** What the browser keeps is kept by this: the place of the service and the graph. */
  base: string;
  graphId: string;
  text: string;
  /** JSON as written; empty for none. */
  parameters: string;
  history: HistoryEntry[];
  saved: SavedQuery[];
  /** Whether the last thing to keep was refused by the browser. */
  full: boolean;
  open(base: string, graphId: string): void;
  write(part: { text?: string; parameters?: string }): void;
  remember(text: string, parameters: string, outcome: Outcome): void;
  clearHistory(): void;
  save(query: SavedQuery): void;
  forget(name: string): void;
}

/** What is being written, what was run and what was saved, of the graph that is looked at. */
export const useQueries = create<QueryState>((set, get) => {
  const key = (what: string): string => storageKey(get().base, get().graphId, what);
  const keep = (what: "history" | "saved", value: HistoryEntry[] | SavedQuery[]): void =>
    set({ [what]: value, full: !writeStored(key(what), value) });
  return {
    base: "",
    graphId: "",
    text: "",
    parameters: "",
    history: [],
    saved: [],
    full: false,
    open: (base, graphId) => {
      if (get().graphId === graphId && get().base === base) return;
      set({ base, graphId });
      const [draft] = readSaved([readStored(key("draft"), sessionStorage)]);
      set({
        text: draft?.text ?? "",
        parameters: draft?.parameters ?? "",
        history: readHistory(readStored(key("history"))),
        saved: readSaved(readStored(key("saved"))),
      });
    },
    write: (part) => {
      set(part);
      // A tab's own, so that it outlives a reload and a sign-in but is in no other's way.
      const { text, parameters } = get();
      writeStored(key("draft"), { name: "draft", text, parameters }, sessionStorage);
    },
    remember: (text, parameters, outcome) =>
      keep("history", addEntry(get().history, text, parameters, outcome, new Date().toISOString())),
    clearHistory: () => keep("history", []),
    save: (query) => keep("saved", addSaved(get().saved, query)),
    forget: (name) =>
      keep(
        "saved",
        get().saved.filter((one) => one.name !== name),
      ),
  };
});
