import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ApiError } from "../api/errors";
import type { Json, JsonObject, PatchOperation } from "../api/types";
import { useNotices } from "../app/notices";
import { isObject } from "../results/documents";
import { buildPatch, editable, type Conflict } from "./document";
import { useDrafts } from "./drafts";
import type { Finding } from "./editing";

/** How one kind of document is read and written. */
export interface Access {
  /** Of its draft. */
  key: string;
  queryKey: readonly string[];
  read(): Promise<JsonObject>;
  patch(patch: PatchOperation[], etag: string): Promise<void>;
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

  const refresh = async (): Promise<void> => {
    const next = await client.fetchQuery({
      queryKey: access.queryKey,
      queryFn: access.read,
      staleTime: 0,
    });
    useDrafts.getState().take(access.key, next);
  };

  /** Sends what there is to send; the conflicts that have to be settled first. */
  const send = async (): Promise<readonly Conflict[]> => {
    for (let attempt = 1; ; attempt++) {
      const draft = useDrafts.getState().drafts.get(access.key);
      if (draft === undefined) return [];
      if (draft.conflicts.length > 0) return draft.conflicts;
      const patch = buildPatch(editable(draft.base), draft.draft);
      try {
        await access.patch(patch, String(draft.base["$etag"]));
      } catch (refused) {
        const stale = refused instanceof ApiError && refused.isConflict;
        if (!stale || attempt === ATTEMPTS) throw refused;
        await refresh();
        continue;
      }
      // NOTE: read before the draft goes, so that the old value does not come up in between.
      await refresh().catch(() => client.invalidateQueries({ queryKey: access.queryKey }));
      useDrafts.getState().drop(access.key);
      say("Saved.");
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
