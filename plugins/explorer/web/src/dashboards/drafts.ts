import { create } from "zustand";

import type { Tile } from "./content";

/** A dashboard while it is changed, before it is saved. */
export interface Draft {
  name: string;
  tiles: readonly Tile[];
  /** The version that it was begun from; null for a new one. */
  etag: string | null;
  isChanged: boolean;
}

interface Drafts {
  drafts: ReadonlyMap<string, Draft>;
  begin(key: string, draft: Omit<Draft, "isChanged">, isChanged?: boolean): void;
  change(key: string, part: Partial<Pick<Draft, "name" | "tiles">>): void;
  end(key: string): void;
}

/** Those of all graphs that were looked at; leaving the view loses nothing of them. */
export const useDrafts = create<Drafts>((set) => {
  const put = (key: string, draft: Draft | null): void =>
    set(({ drafts }) => {
      const after = new Map(drafts);
      if (draft === null) after.delete(key);
      else after.set(key, draft);
      return { drafts: after };
    });
  return {
    drafts: new Map(),
    begin: (key, draft, isChanged = false) => put(key, { ...draft, isChanged }),
    change: (key, part) => {
      const draft = useDrafts.getState().drafts.get(key);
      if (draft !== undefined) put(key, { ...draft, ...part, isChanged: true });
    },
    end: (key) => put(key, null),
  };
});

/** Under what the draft of a dashboard is; null for a new one. */
export function draftKey(graphId: string, id: string | null): string {
  return `${graphId}\n${id ?? ""}`;
}

/** Asks before the page is left with a dashboard that is not saved. */
export function guardDrafts(): () => void {
  const guard = (event: BeforeUnloadEvent): void => {
    const drafts = [...useDrafts.getState().drafts.values()];
    if (drafts.some(({ isChanged }) => isChanged)) event.preventDefault();
  };
  window.addEventListener("beforeunload", guard);
  return () => window.removeEventListener("beforeunload", guard);
}
