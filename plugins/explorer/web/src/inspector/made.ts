import { create } from "zustand";

import { isSame } from "../api/json";
import type { JsonObject } from "../api/types";
import { useNotices, type Action } from "../app/notices";
import { queryClient } from "../app/queryClient";
import type { Selected } from "../app/selection";
import { isObject } from "../results/documents";
import { buildPatch, editable, readAt } from "./document";
import type { Access } from "./useSave";

/** A change that was made with this page since it was opened. */
export interface Made {
  number: number;
  at: Date;
  graphId: string;
  text: string;
  of: Selected;
  /** Takes it back; null where that cannot be done. Throws where others have changed it since. */
  undo: (() => Promise<void>) | null;
  state: "done" | "undoing" | "undone";
}

/** So many are listed. */
const MOST = 200;

/** What was changed with this page since it was opened, the newest first. */
export const useMade = create<{ made: readonly Made[] }>(() => ({ made: [] }));

let last = 0;

/** Keep what was done; answers the action that takes it back, for a notice. */
export function recordMade(
  made: Pick<Made, "graphId" | "text" | "of" | "undo">,
): Action | undefined {
  const number = ++last;
  const one: Made = { ...made, number, at: new Date(), state: "done" };
  useMade.setState(({ made: before }) => ({ made: [one, ...before].slice(0, MOST) }));
  if (made.undo === null) return undefined;
  return { name: "Undo", act: () => void takeBack(number) };
}

/** Undo a change, once; an error is told. */
export async function takeBack(number: number): Promise<void> {
  const one = useMade.getState().made.find((made) => made.number === number);
  if (one === undefined || one.undo === null || one.state !== "done") return;
  const { say, sayError } = useNotices.getState();
  mark(number, "undoing");
  try {
    await one.undo();
    mark(number, "undone");
    say(`Undone: ${one.text}`);
  } catch (error) {
    mark(number, "done");
    sayError(error);
  }
  // Whatever it was, what was read before may be old.
  const kinds = ["twin", "relationship", "relationships", "incoming", "counts", "locations"];
  for (const kind of kinds) void queryClient.invalidateQueries({ queryKey: [kind, one.graphId] });
}

function mark(number: number, state: Made["state"]): void {
  useMade.setState(({ made }) => ({
    made: made.map((one) => (one.number === number ? { ...one, state } : one)),
  }));
}

/**
 * Takes a patch back by its inverse, on the newest version. Throws where others have changed the
 * same since.
 */
export function undoPatch(
  access: Access,
  before: JsonObject,
  after: JsonObject,
): () => Promise<void> {
  return async () => {
    const now = await access.read();
    const inverse = buildPatch(editable(after), editable(before));
    const changed = inverse.filter(({ path }) => !isSame(readAt(now, path), readAt(after, path)));
    if (changed.length > 0) {
      const paths = changed.map((one) => one.path).join(", ");
      throw new Error(`Not undone: ${paths} has another value since, which would be lost.`);
    }
    if (inverse.length > 0) await access.patch(inverse, String(now["$etag"]));
  };
}

/** What of a twin a new one has: no identity, and no times of its values. */
export function copyContents(twin: JsonObject): JsonObject {
  const contents = Object.entries(editable(twin)).filter(([name]) => name !== "$metadata");
  return Object.fromEntries(
    contents.map(([name, value]) =>
      isObject(value) && isObject(value["$metadata"])
        ? [name, { ...value, $metadata: {} }]
        : [name, value],
    ),
  );
}
