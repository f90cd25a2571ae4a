import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";

import { MAY, readContent, Workspaces, type WorkspaceHead } from "../api/workspaces";
import { useSession } from "../session/session";
import { readDashboard, type Tile } from "./content";

/** A dashboard as the service keeps it. */
export interface Kept {
  head: WorkspaceHead;
  tiles: readonly Tile[];
}

export function useWorkspaces(): Workspaces {
  const { graph } = useSession();
  return useMemo(() => new Workspaces(graph.http), [graph]);
}

/** The dashboards of the graph, by name. */
export function useDashboards() {
  const { graphId, may } = useSession();
  const workspaces = useWorkspaces();
  return useQuery({
    queryKey: ["dashboards", graphId],
    queryFn: async ({ signal }) => {
      const found = await workspaces.list("dashboard", signal);
      return found.sort((one, other) => one.name.localeCompare(other.name));
    },
    enabled: may(MAY.read),
    staleTime: 0,
  });
}

/** One of them; an error in words where it is none, or a newer page's. */
export function useDashboard(id: string) {
  const { graphId } = useSession();
  const workspaces = useWorkspaces();
  return useQuery({
    queryKey: ["dashboards", graphId, id],
    queryFn: async ({ signal }): Promise<Kept> => {
      const workspace = await workspaces.read(id, signal);
      const tiles = readDashboard(readContent(workspace, "dashboard"));
      return { head: workspace, tiles };
    },
    staleTime: 0,
  });
}

/** Has the dashboards read anew after one was saved or deleted. */
export function useReadAnew(): () => Promise<void> {
  const { graphId } = useSession();
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: ["dashboards", graphId] });
}
