import { useQuery } from "@tanstack/react-query";

import { KINDS, readContent, Workspaces, type Content, type Workspace } from "../api/workspaces";
import type { Json } from "../api/types";
import { PLAIN, readStyle, type Style } from "../picture/style";
import { useSession } from "../session/session";
import { useWorkspaceList } from "./useWorkspaces";

/** The workspace that is the style of the graph for everyone. */
export const STYLE_ID = "graph-style";
const STYLE_NAME = "Style for everyone";

export interface SharedStyle {
  style: Style;
  /** What it was read from; null where there is none yet. */
  workspace: Workspace | null;
}

const NONE: SharedStyle = { style: PLAIN, workspace: null };

/**
 * The style of the graph for everyone; undefined while it is not known. Its error says why it cannot
 * be read, such as that a newer page wrote it.
 */
export function useSharedStyle(): { data: SharedStyle | undefined; error: Error | null } {
  const { graph, graphId } = useSession();
  const { data: list } = useWorkspaceList();
  // NOTE: only what is listed is asked for: browsers write every 404 into their consoles.
  const head = list?.find((one) => one.id === STYLE_ID);
  return useQuery<SharedStyle>({
    queryKey: ["workspaces", graphId, STYLE_ID, head?.etag ?? ""],
    queryFn: async ({ signal }) => {
      if (head === undefined) return NONE;
      const workspace = await new Workspaces(graph.http).read(STYLE_ID, signal);
      const { style } = readContent(workspace, "style");
      return { style: readStyle(style), workspace };
    },
    enabled: list !== undefined,
    staleTime: Infinity,
  });
}

/** Keeps a style for everyone; 412 where it is no longer what was read. */
export function shareStyle(
  client: Workspaces,
  style: Style,
  before: Workspace | null,
): Promise<Workspace> {
  const content: Content = {
    kind: "style",
    version: KINDS.style.version,
    style: style as unknown as Json,
  };
  return before === null
    ? client.createAs(STYLE_ID, STYLE_NAME, content)
    : client.replace(STYLE_ID, before.name, content, before.etag);
}
