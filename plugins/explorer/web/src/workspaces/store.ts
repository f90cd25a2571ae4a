import { create } from "zustand";

import type { GraphClient } from "../api/graph";
import { readContent, type Workspace } from "../api/workspaces";
import { pictureSaved } from "../picture/fill";
import { restorePicture, useRestore } from "../picture/restore";
import { usePicture } from "../picture/store";
import { useStyle } from "../picture/styleStore";
import { renderJson } from "../api/json";
import { runQuery } from "../query/run";
import { useQueries } from "../query/store";
import { findKind } from "../query/tokens";
import { isGone } from "../results/gone";
import { NO_RESULT, useResults } from "../results/store";
import { capturePicture } from "./capture";
import { readPicture, writeEssence, type PictureContent } from "./content";

interface OpenState {
  /** The workspace that is looked at, as it was last read or saved; null is none. */
  opened: Workspace | null;
  /** The graph that it is of. */
  graphId: string;
  /** What there was when it was opened or saved: what differs from it is not saved. */
  base: PictureContent | null;
}

/** The workspace of a picture that is open. */
export const useOpened = create<OpenState>(() => ({ opened: null, graphId: "", base: null }));

/** Whether what is looked at differs from what the open workspace keeps. */
export function isUnsaved(): boolean {
  const { base } = useOpened.getState();
  return base !== null && writeEssence(base, isGone) !== writeEssence(capturePicture(), isGone);
}

/** Look at a workspace from now on. Throws where its content cannot be read; all stays then. */
export async function openWorkspace(
  graph: GraphClient,
  graphId: string,
  workspace: Workspace,
  /** Whether another query is looked at already, as its address says: rows and text are its own. */
  keepsQuery = false,
): Promise<void> {
  const content = readPicture(readContent(workspace, "picture"));
  useStyle.getState().wear(content.style);
  const { query, parameters, view } = content;
  const { layout, highlights } = content;
  usePicture.setState({ layout, highlights, overlays: false, overlay: null });
  useOpened.setState({ opened: workspace, graphId, base: content });
  if (keepsQuery) {
    usePicture.getState().place(content.twins);
    return;
  }
  const text = content.draft?.text ?? query;
  const written = Object.keys(parameters).length === 0 ? "" : renderJson(parameters, 2);
  useQueries.getState().write({ text, parameters: content.draft?.parameters ?? written });
  useResults.getState().set({ ...NO_RESULT, number: useResults.getState().number + 1, view });
  usePicture.getState().clear();
  // Nothing is drawn until the rows are there.
  usePicture.getState().takeRows(NO_RESULT.rows);
  restorePicture(content);
  const runs = query !== "" && findKind(query) !== "writes";
  if (!runs || content.overlays) {
    await pictureSaved(graph);
    usePicture.getState().setOverlays(content.overlays);
  }
  if (!runs) return;
  await runQuery({ graph, graphId, text: query, parameters });
  const { rows, set } = useResults.getState();
  set({ view });
  if (rows.length > 0) return;
  // Of no rows there is no picture; its twins are there all the same.
  usePicture.getState().takeRows(rows);
  await pictureSaved(graph);
}

/** It was saved so: that is what there is to differ from. */
export function keepSaved(workspace: Workspace, base: PictureContent, graphId: string): void {
  useOpened.setState({ opened: workspace, graphId, base });
  // From now on changes of the style are the workspace's.
  useStyle.getState().wear(base.style);
}

/** Its name or version is another one now. */
export function keepRenamed(workspace: Workspace): void {
  useOpened.setState({ opened: workspace });
}

// All of a saved picture is drawn: what the graph has got or lost meanwhile is nobody's change.
useRestore.subscribe(({ number }, before) => {
  const { base } = useOpened.getState();
  if (base === null || number === before.number) return;
  const { twins, removed } = capturePicture();
  useOpened.setState({ base: { ...base, twins, removed } });
});

/** Look at no workspace any more. What is in view stays, but is drawn as the graph's style says. */
export function closeWorkspace(): void {
  if (useOpened.getState().opened === null) return;
  useOpened.setState({ opened: null, graphId: "", base: null });
  restorePicture(null);
  usePicture.getState().place([]);
  useStyle.getState().wear(null);
}
