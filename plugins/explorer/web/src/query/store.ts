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
import { readStored, storageKey, writeStored, type Keeper } from "./storage";

interface QueryState {
  keeper: Keeper | null;
  text: string;
  /** JSON as written; empty for none. */
  parameters: string;
  history: HistoryEntry[];
  saved: SavedQuery[];
  /** Whether the last thing to keep was refused by the browser. */
  full: boolean;
  open(keeper: Keeper): void;
  write(part: { text?: string; parameters?: string }): void;
  remember(text: string, parameters: string, outcome: Outcome): void;
  clearHistory(): void;
  save(query: SavedQuery): void;
  forget(name: string): void;
  /** Take over what another tab has kept, if it is of the same; null for all of it. */
  hear(key: string | null): void;
}

/** What is being written, what was run and what was saved, of the graph that is looked at. */
export const useQueries = create<QueryState>((set, get) => {
  const key = (what: string): string => {
    const { keeper } = get();
    if (keeper === null) throw new Error("The store of queries is used before it was opened");
    return storageKey(keeper, what);
  };
  // NOTE: other tabs keep theirs at the same place, so it is read again before something is added.
  // What the browser had no room for, or no longer has, is in memory alone.
  const change = <What extends "history" | "saved">(
    what: What,
    read: (stored: unknown) => QueryState[What],
    make: (before: QueryState[What]) => QueryState[What],
  ): void => {
    const stored = get().full ? null : readStored(key(what));
    const value = make(stored === null ? get()[what] : read(stored));
    set({ [what]: value, full: !writeStored(key(what), value) });
  };
  return {
    keeper: null,
    text: "",
    parameters: "",
    history: [],
    saved: [],
    full: false,
    open: (keeper) => {
      const { keeper: before } = get();
      if (before !== null && storageKey(before, "") === storageKey(keeper, "")) return;
      set({ keeper, full: false });
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
      change("history", readHistory, (history) =>
        addEntry(history, text, parameters, outcome, new Date().toISOString()),
      ),
    clearHistory: () => change("history", readHistory, () => []),
    save: (query) => change("saved", readSaved, (saved) => addSaved(saved, query)),
    forget: (name) =>
      change("saved", readSaved, (saved) => saved.filter((one) => one.name !== name)),
    hear: (changed) => {
      if (get().keeper === null || get().full) return;
      if (changed === null || changed === key("history"))
        set({ history: readHistory(readStored(key("history"))) });
      if (changed === null || changed === key("saved"))
        set({ saved: readSaved(readStored(key("saved"))) });
    },
  };
});
