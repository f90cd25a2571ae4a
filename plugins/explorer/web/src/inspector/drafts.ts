import { create } from "zustand";

import { isSame } from "../api/json";
import type { JsonObject } from "../api/types";
import {
  buildPatch,
  editable,
  isWithin,
  merge,
  readAt,
  touches,
  withContents,
  writeAt,
  type Conflict,
} from "./document";
import type { Unread } from "./editing";

/** A text that is no value yet, with the document that it was begun on. */
interface Begun extends Unread {
  stored: JsonObject;
  draft: JsonObject;
}

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
  /** What is written and is no value yet, by pointers. */
  texts: ReadonlyMap<string, Begun>;
}

interface Drafts {
  /** By `draftKey`. They stay while something else is looked at. */
  drafts: ReadonlyMap<string, Draft>;
  /**
   * Keeps an edit of the document; one that changes nothing is forgotten. An edit that `completes`
   * the text at a pointer is of the document that the text was begun on.
   */
  edit(key: string, base: JsonObject, draft: JsonObject, completes?: string): void;
  /** Keeps a text that is no value yet; null forgets it. */
  write(key: string, base: JsonObject, pointer: string, text: string | null): void;
  /** Forgets the texts at a pointer and below it. */
  forget(key: string, pointer: string): void;
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

function begin(base: JsonObject): Draft {
  const draft = editable(base);
  return { base, draft, conflicts: [], news: [], sent: null, texts: new Map() };
}

function without({ texts }: Draft, pointer: string | undefined): Draft["texts"] {
  return new Map([...texts].filter(([one]) => one !== pointer));
}

/** An edit of the document that a text was begun on, put on what the document is now. */
function complete(now: Draft, begun: Begun, written: JsonObject): Draft {
  const mine = buildPatch(begun.draft, written).map((one) => one.path);
  const { conflicts } = merge(begun.stored, written, editable(now.base));
  const found = conflicts.filter(({ path }) => mine.some((one) => touches(one, path)));
  const known = now.conflicts.filter(({ path }) => !found.some((one) => one.path === path));
  const { draft } = merge(begun.draft, written, now.draft);
  return { ...now, draft, conflicts: [...known, ...found] };
}

export const useDrafts = create<Drafts>((set, get) => {
  const put = (key: string, draft: Draft): void => {
    const drafts = new Map(get().drafts);
    const unchanged = isSame(editable(draft.base), draft.draft);
    // NOTE: what was sent may be stored yet, and is to be changed back then.
    const settled = draft.conflicts.length === 0 && draft.sent === null && draft.texts.size === 0;
    if (unchanged && settled) drafts.delete(key);
    else drafts.set(key, draft);
    set({ drafts });
  };
  return {
    drafts: new Map(),
    edit: (key, base, draft, completes) => {
      const before = get().drafts.get(key) ?? begin(base);
      const begun = completes === undefined ? undefined : before.texts.get(completes);
      if (begun === undefined) put(key, { ...before, draft });
      else put(key, { ...complete(before, begun, draft), texts: without(before, completes) });
    },
    write: (key, base, pointer, text) => {
      const before = get().drafts.get(key) ?? begin(base);
      const { draft, texts } = before;
      const begun = texts.get(pointer) ?? { stored: editable(before.base), draft };
      if (text === null) put(key, { ...before, texts: without(before, pointer) });
      else put(key, { ...before, texts: new Map(texts).set(pointer, { ...begun, text }) });
    },
    forget: (key, pointer) => {
      const before = get().drafts.get(key);
      if (before === undefined) return;
      const texts = [...before.texts].filter(([one]) => !isWithin(one, pointer));
      put(key, { ...before, texts: new Map(texts) });
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
      const { sent } = before;
      const texts = [...before.texts].map(([at, one]) => [at, { ...one, stored: sent }] as const);
      put(key, { base, draft, conflicts, news, sent: null, texts: new Map(texts) });
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
        ...before,
        base: next,
        draft: merged.draft,
        conflicts: [...known, ...merged.conflicts],
        news: [...new Set([...before.news, ...merged.news])],
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
