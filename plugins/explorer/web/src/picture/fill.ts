import { create } from "zustand";

import type { GraphClient } from "../api/graph";
import type { JsonObject } from "../api/types";
import { collectDocuments, leaveOut } from "../results/documents";
import { isGone } from "../results/gone";
import { readBetween, readTwins } from "./ask";
import { MOST_EDGES } from "./model";
import { usePicture } from "./store";

/** Up to so many twins their relationships are read without being asked for. */
const MOST_UNASKED = 5000;

interface FillState {
  /** What is being read; null is nothing. */
  busy: string | null;
  error: unknown;
  /** Whether the relationships between the twins of the picture were read. */
  complete: boolean;
  /** Whether there are more of them than are drawn. */
  cut: boolean;
}

/** What is read for the picture beyond the rows. */
export const useFill = create<FillState>(() => ({
  busy: null,
  error: null,
  complete: false,
  cut: false,
}));

let current = new AbortController();

/** Runs one reading; another ends it. */
async function reading(what: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  current.abort();
  const mine = new AbortController();
  current = mine;
  useFill.setState({ busy: what, error: null });
  try {
    await work(mine.signal);
    if (!mine.signal.aborted) useFill.setState({ busy: null });
  } catch (error) {
    if (!mine.signal.aborted) useFill.setState({ busy: null, error });
  }
}

/** Picture the rows of a result; of twins alone the relationships are read too. */
export async function pictureRows(graph: GraphClient, rows: readonly JsonObject[]): Promise<void> {
  const { rows: before, show, add, takeRows } = usePicture.getState();
  if (rows === before) return;
  const { twins, relationships } = leaveOut(collectDocuments([...rows]), isGone);
  // More rows of the same result come to those that are there.
  if (before.length > 0 && rows[0] === before[0]) add(twins, relationships);
  else {
    show(twins, relationships);
    useFill.setState({ complete: false, cut: false });
  }
  takeRows(rows);
  await reading("Reading twins", async (signal) => {
    await addUnknown(graph, signal);
    const alone = relationships.length === 0 && twins.length <= MOST_UNASKED;
    if (alone && !signal.aborted) await addBetween(graph, signal);
  });
}

/** Read the relationships between the twins that are pictured. */
export function completePicture(graph: GraphClient): Promise<void> {
  return reading("Reading relationships", (signal) => addBetween(graph, signal));
}

async function addUnknown(graph: GraphClient, signal: AbortSignal): Promise<void> {
  const { nodes } = usePicture.getState().contents;
  const unknown = [...nodes].flatMap(([id, twin]) => (twin === null ? [id] : []));
  if (unknown.length === 0) return;
  const twins = await readTwins(graph, unknown, signal);
  if (!signal.aborted) usePicture.getState().add(twins, []);
}

async function addBetween(graph: GraphClient, signal: AbortSignal): Promise<void> {
  useFill.setState({ busy: "Reading relationships" });
  const ids = [...usePicture.getState().contents.nodes.keys()];
  const { relationships, more } = await readBetween(graph, ids, ids, MOST_EDGES, signal);
  if (signal.aborted) return;
  usePicture.getState().add([], relationships);
  useFill.setState({ complete: true, cut: more });
}
