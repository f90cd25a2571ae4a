import { useCallback, useEffect } from "react";
import { create } from "zustand";

import type { GraphClient } from "../api/graph";
import { MAY, Workspaces } from "../api/workspaces";
import { useNotices } from "../app/notices";
import { useSearch } from "../app/search";
import { readLink } from "../query/share";
import { useSession } from "../session/session";
import { addressWorkspace, readWorkspaceId } from "./address";
import { readPicture } from "./content";
import { closeWorkspace, isUnsaved, openWorkspace, useOpened } from "./store";

/** The workspace that waits until somebody has said what becomes of another one; null is none. */
const useAsked = create<{ asked: string | null }>(() => ({ asked: null }));

/**
 * Follows an address that names a workspace. Where another one is open whose changes are not saved,
 * it is asked first: `asked` is the one that waits for an answer.
 */
export function useWorkspaceLink(): { asked: string | null; answer(opens: boolean): void } {
  const { graph, graphId, may } = useSession();
  const wanted = readWorkspaceId(useSearch());
  const { opened, graphId: ofGraph } = useOpened();
  const asked = useAsked((state) => state.asked);
  const here = ofGraph === graphId ? (opened?.id ?? null) : null;
  const mayRead = may(MAY.read);
  useEffect(() => {
    if (opened !== null && ofGraph !== graphId) closeWorkspace();
  }, [opened, ofGraph, graphId]);
  useEffect(() => {
    if (wanted === here) return;
    // Whoever comes back to the view finds it as it was.
    if (wanted === null) addressWorkspace(here);
    else if (here !== null && isUnsaved()) useAsked.setState({ asked: wanted });
    else void follow(graph, graphId, wanted, mayRead);
  }, [graph, graphId, wanted, here, mayRead]);
  const answer = useCallback(
    (opens: boolean) => {
      useAsked.setState({ asked: null });
      if (opens && asked !== null) void follow(graph, graphId, asked, mayRead);
      else addressWorkspace(here);
    },
    [graph, graphId, asked, here, mayRead],
  );
  return { asked, answer };
}

let following: AbortController | null = null;

/** Opens what an address names; where that fails the address no longer names it. */
async function follow(
  graph: GraphClient,
  graphId: string,
  id: string,
  mayRead: boolean,
): Promise<void> {
  following?.abort();
  const mine = new AbortController();
  following = mine;
  try {
    if (!mayRead) throw new Error(`You may not open the workspaces of this graph (${MAY.read}).`);
    const workspace = await new Workspaces(graph.http).read(id, mine.signal);
    if (mine.signal.aborted) return;
    const linked = readLink("", window.location.hash);
    const keepsQuery = linked !== null && linked.text !== readPicture(workspace.content).query;
    await openWorkspace(graph, graphId, workspace, keepsQuery);
  } catch (error) {
    if (mine.signal.aborted) return;
    useNotices.getState().sayError(error);
    if (readWorkspaceId(window.location.search) === id) {
      addressWorkspace(useOpened.getState().opened?.id ?? null);
    }
  }
}
