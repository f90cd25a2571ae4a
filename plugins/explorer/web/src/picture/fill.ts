import { create } from "zustand";

import type { GraphClient } from "../api/graph";
import { isSame as isEqual } from "../api/json";
import type { JsonObject } from "../api/types";
import { collectDocuments, leaveOut } from "../results/documents";
import { isGone } from "../results/gone";
import { useResults } from "../results/store";
import { useMoment } from "../time/moment";
import { readDifferences, type Differences } from "./address";
import { readBetween, readTwins } from "./ask";
import { MOST_EDGES } from "./model";
import { claimRestored, finishRestored } from "./restore";
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
  /** The rows that are drawn with all that the address names besides; null while that is read. */
  drawn: readonly JsonObject[] | null;
}

/** What is read for the picture beyond the rows. */
export const useFill = create<FillState>(() => ({
  busy: null,
  error: null,
  complete: false,
  cut: false,
  drawn: null,
}));

/** The question whose rows are pictured, and the moment as of which it was asked. */
let pictured: { query: string; parameters: JsonObject; asOf: number | null } | null = null;

/** Whether what is drawn is as of an earlier moment. */
export function isPastPictured(): boolean {
  return pictured !== null && pictured.asOf !== null;
}

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
  const { rows: before, show, add, takeRows, overlays, setOverlay } = usePicture.getState();
  if (rows === before) return;
  if (overlays) {
    takeRows(rows);
    const { twins, relationships } = collectDocuments([...rows]);
    const ends = relationships.flatMap((one) => [one.$sourceId, one.$targetId]);
    setOverlay(new Set([...twins.map((one) => one.$dtId), ...ends]));
    return;
  }
  const { query, parameters } = useResults.getState();
  const { asOf } = useMoment.getState();
  const isSame = pictured?.query === query && isEqual(pictured.parameters, parameters);
  const isOtherMoment = isSame && pictured?.asOf !== asOf;
  pictured = { query, parameters, asOf };
  if (isOtherMoment) {
    takeRows(rows);
    await reading("Reading the picture of that moment", (signal) => renew(graph, rows, signal));
    return;
  }
  const { twins, relationships } = leaveOut(
    collectDocuments([...rows]),
    asOf === null ? isGone : () => false,
  );
  // More rows of the same result come to those that are there.
  const isMore = before.length > 0 && rows[0] === before[0];
  const restored = isMore ? null : claimRestored();
  if (isMore) add(twins, relationships);
  else {
    if (restored !== null) usePicture.getState().place(restored.twins);
    show(twins, relationships);
    if (restored !== null) usePicture.getState().hide(restored.hiding);
    useFill.setState({ complete: false, cut: false, drawn: null });
  }
  takeRows(rows);
  const { added, removed } = readDifferences(window.location.hash);
  const named = {
    added: [...new Set([...added, ...(restored?.twins ?? []).map((one) => one.id)])].filter(
      (id) => !usePicture.getState().contents.nodes.has(id),
    ),
    removed: [...removed, ...(restored?.removed ?? [])],
  };
  await reading("Reading twins", async (signal) => {
    if (useFill.getState().drawn === null) await addNamed(graph, named, signal);
    if (signal.aborted) return;
    useFill.setState({ drawn: rows });
    await addUnknown(graph, signal);
    const alone = relationships.length === 0 && twins.length <= MOST_UNASKED;
    if (alone && !signal.aborted) await addBetween(graph, signal);
  });
  if (restored !== null) finishRestored(restored);
}

/** Picture saved twins that are of no rows: rows may be laid over them afterwards. */
export async function pictureSaved(graph: GraphClient): Promise<void> {
  const restored = claimRestored();
  if (restored === null) return;
  const { place, show, hide } = usePicture.getState();
  place(restored.twins);
  show([], []);
  hide(restored.hiding);
  const ids = restored.twins.map((one) => one.id);
  await reading("Reading twins", (signal) => addTwins(graph, ids, signal));
  finishRestored(restored);
}

/**
 * Picture the same as of another moment: the rows, with what came into the picture and without what
 * was taken out of it. All of it at once, so that what stays does not flicker.
 */
async function renew(
  graph: GraphClient,
  rows: readonly JsonObject[],
  signal: AbortSignal,
): Promise<void> {
  const { added, removed } = readDifferences(window.location.hash);
  const { twins, relationships } = collectDocuments([...rows]);
  const known = new Set(twins.map((one) => one.$dtId));
  const ends = relationships.flatMap((one) => [one.$sourceId, one.$targetId]);
  const unknown = [...new Set([...ends, ...added])].filter((id) => !known.has(id));
  const more = unknown.length === 0 ? [] : await readTwins(graph, unknown, signal);
  const out = new Set(removed);
  const all = [...twins, ...more].filter((one) => !out.has(one.$dtId));
  const ids = all.map((one) => one.$dtId);
  const isRead = (relationships.length === 0 || added.length > 0) && ids.length <= MOST_UNASKED;
  const between =
    isRead && ids.length > 0 ? await readBetween(graph, ids, ids, MOST_EDGES, signal) : null;
  if (signal.aborted) return;
  const kept = (between?.relationships ?? relationships).filter(
    (one) => !out.has(one.$sourceId) && !out.has(one.$targetId),
  );
  usePicture.getState().renew(all, kept);
  useFill.setState({ drawn: rows, complete: between !== null, cut: between?.more ?? false });
}

/** Read the relationships between the twins that are pictured. */
export function completePicture(graph: GraphClient): Promise<void> {
  return reading("Reading relationships", (signal) => addBetween(graph, signal));
}

/** Add the twins of a picture that its address names beyond the rows, and take out what it says. */
async function addNamed(
  graph: GraphClient,
  { added, removed }: Differences,
  signal: AbortSignal,
): Promise<void> {
  if (removed.length > 0) usePicture.getState().remove(removed);
  if (added.length === 0) return;
  await addTwins(graph, added, signal);
}

/** Add twins by their ids, with what leads from and to them within the picture. */
async function addTwins(
  graph: GraphClient,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const twins = await readTwins(graph, ids, signal);
  const found = twins.map((one) => one.$dtId);
  const all = [...new Set([...usePicture.getState().contents.nodes.keys(), ...found])];
  const [out, back] = await Promise.all([
    readBetween(graph, found, all, MOST_EDGES, signal),
    readBetween(graph, all, found, MOST_EDGES, signal),
  ]);
  if (signal?.aborted) return;
  usePicture.getState().add(twins, [...out.relationships, ...back.relationships]);
}

/** Add twins that the picture does not have. */
export function addMissing(graph: GraphClient, ids: readonly string[]): Promise<void> {
  return reading("Reading twins", (signal) => addTwins(graph, ids, signal));
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
