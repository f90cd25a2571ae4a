import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ApiError } from "../api/errors";
import type { Json, JsonObject, PatchOperation } from "../api/types";
import { useNotices } from "../app/notices";
import type { Selected } from "../app/selection";
import { isObject } from "../results/documents";
import { buildPatch, editable, type Conflict } from "./document";
import { useDrafts } from "./drafts";
import { recordMade, undoPatch } from "./made";
import type { Finding } from "./editing";

/** How one kind of document is read and written. */
export interface Access {
  /** Of its draft. */
  key: string;
  /** What is changed by it, for the list of changes. */
  of: Selected;
  graphId: string;
  queryKey: readonly string[];
  read(): Promise<JsonObject>;
  patch(patch: PatchOperation[], etag: string): Promise<void>;
}

function tellPatch(of: Selected, patch: readonly PatchOperation[]): string {
  const [first, ...others] = patch.map((one) => one.path.slice(1));
  return `${of.id}: ${first ?? ""}${others.length === 0 ? "" : ` and ${others.length} more`}`;
}

/** How often a save starts anew when others change other places of the document. */
const ATTEMPTS = 5;

/** The findings of an error at places of the document, as far as it names some. */
export function readFindings(error: unknown): Finding[] {
  const details: Json = error instanceof ApiError ? error.details : null;
  if (!Array.isArray(details)) return [];
  return details.flatMap((one) =>
    isObject(one) && typeof one["target"] === "string" && typeof one["message"] === "string"
      ? [{ target: one["target"], message: one["message"] }]
      : [],
  );
}

/** Saving of a draft: with the etag of its base, put on the newest version where that is gone. */
export function useSave(access: Access) {
  const client = useQueryClient();
  const { say } = useNotices();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);

  const read = async (): Promise<JsonObject> => {
    // NOTE: a read that has begun already may bring the version before.
    await client.cancelQueries({ queryKey: access.queryKey, exact: true });
    return client.fetchQuery({ queryKey: access.queryKey, queryFn: access.read, staleTime: 0 });
  };

  /** Sends what there is to send; the conflicts that have to be settled first. */
  const send = async (): Promise<readonly Conflict[]> => {
    for (let attempt = 1; ; attempt++) {
      const drafts = useDrafts.getState();
      const draft = drafts.drafts.get(access.key);
      if (draft === undefined || draft.sent !== null) return [];
      if (draft.conflicts.length > 0) return draft.conflicts;
      drafts.send(access.key);
      const patch = buildPatch(editable(draft.base), draft.draft);
      try {
        await access.patch(patch, String(draft.base["$etag"]));
      } catch (refused) {
        drafts.refused(access.key);
        // What others stored while it was under way.
        const seen = client.getQueryData<JsonObject>(access.queryKey);
        if (seen !== undefined) drafts.take(access.key, seen);
        const stale = refused instanceof ApiError && refused.isConflict;
        if (!stale || attempt === ATTEMPTS) throw refused;
        drafts.take(access.key, await read());
        continue;
      }
      // NOTE: read before the draft goes, so that the old value does not come up in between.
      const next = await read().catch(() => null);
      drafts.saved(access.key, next);
      if (next === null) void client.invalidateQueries({ queryKey: access.queryKey });
      const { base, draft: sent } = draft;
      const undo = undoPatch(access, base, { ...base, ...sent });
      const text = tellPatch(access.of, patch);
      say("Saved.", recordMade({ graphId: access.graphId, text, of: access.of, undo }));
      return [];
    }
  };

  const save = async (): Promise<readonly Conflict[]> => {
    setBusy(true);
    setError(null);
    try {
      return await send();
    } catch (refused) {
      setError(refused);
      return [];
    } finally {
      setBusy(false);
    }
  };
  return { save, busy, error, forget: () => setError(null) };
}
