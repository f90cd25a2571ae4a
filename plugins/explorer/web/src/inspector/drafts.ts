import { create } from "zustand";

import { isSame } from "../api/json";
import type { JsonObject } from "../api/types";
import { editable, merge, readAt, withContents, writeAt, type Conflict } from "./document";

/** What was edited of a twin or relationship and is not saved yet. */
export interface Draft {
  /** The version, with its etag, that the draft stands on. */
  base: JsonObject;
  /** What can be edited of it, as it shall be. */
  draft: JsonObject;
  /** What others changed meanwhile as well; each has to be chosen before it can be saved. */
  conflicts: Conflict[];
  /** Where others changed what is not edited here. */
  news: string[];
  /** The draft as it was when it was sent, while that is under way; else null. */
  sent: JsonObject | null;
}

interface Drafts {
  /** By `draftKey`. They stay while something else is looked at. */
  drafts: ReadonlyMap<string, Draft>;
  /** Keeps an edit of the document; one that changes nothing is forgotten. */
  edit(key: string, base: JsonObject, draft: JsonObject): void;
  /** Says that the draft is on its way to the service as it is now. */
  send(key: string): void;
  /** What was sent is stored, as `next` where that could be read; what was edited since stays. */
  saved(key: string, next: JsonObject | null): void;
  /** What was sent was not taken. */
  refused(key: string): void;
  /** Puts a draft on a newer version; while it is sent nobody knows yet whose version that is. */
  take(key: string, next: JsonObject): void;
  /** Settles the conflicts: at the paths given theirs stands, else mine. */
  settle(key: string, theirs: ReadonlySet<string>): void;
  drop(key: string): void;
}

export function draftKey(graphId: string, ...ids: string[]): string {
  return [graphId, ...ids].join("\n");
}

export const useDrafts = create<Drafts>((set, get) => {
  const put = (key: string, draft: Draft): void => {
    const drafts = new Map(get().drafts);
    const unchanged = isSame(editable(draft.base), draft.draft);
    // NOTE: what was sent may be stored yet, and is to be changed back then.
    if (unchanged && draft.conflicts.length === 0 && draft.sent === null) drafts.delete(key);
    else drafts.set(key, draft);
    set({ drafts });
  };
  return {
    drafts: new Map(),
    edit: (key, base, draft) => {
      const before = get().drafts.get(key) ?? { base, conflicts: [], news: [], sent: null };
      put(key, { ...before, draft });
    },
    send: (key) => {
      const before = get().drafts.get(key);
      if (before !== undefined) put(key, { ...before, sent: before.draft });
    },
    saved: (key, next) => {
      const before = get().drafts.get(key);
      if (before === undefined || before.sent === null) return;
      // NOTE: the old etag on what is stored now: whoever saves on it is refused, and reads first.
      const base = next ?? withContents(before.base, before.sent);
      const { draft, conflicts, news } = merge(before.sent, before.draft, editable(base));
      put(key, { base, draft, conflicts, news, sent: null });
    },
    refused: (key) => {
      const before = get().drafts.get(key);
      if (before !== undefined) put(key, { ...before, sent: null });
    },
    take: (key, next) => {
      const before = get().drafts.get(key);
      if (before === undefined || before.sent !== null) return;
      if (before.base["$etag"] === next["$etag"]) return;
      const merged = merge(editable(before.base), before.draft, editable(next));
      // NOTE: a conflict that was there already is no less one on the newer version.
      const known = before.conflicts
        .filter((one) => !merged.conflicts.some((other) => other.path === one.path))
        .map((one) => ({ ...one, theirs: readAt(editable(next), one.path) }))
        .filter((one) => !isSame(one.theirs, readAt(merged.draft, one.path)));
      put(key, {
        base: next,
        draft: merged.draft,
        conflicts: [...known, ...merged.conflicts],
        news: [...new Set([...before.news, ...merged.news])],
        sent: null,
      });
    },
    settle: (key, theirs) => {
      const before = get().drafts.get(key);
      if (before === undefined) return;
      const draft = before.conflicts
        .filter((one) => theirs.has(one.path))
        .reduce((one, { path, theirs: value }) => writeAt(one, path, value), before.draft);
      put(key, { ...before, draft, conflicts: [] });
    },
    drop: (key) => {
      const drafts = new Map(get().drafts);
      if (drafts.delete(key)) set({ drafts });
    },
  };
});
