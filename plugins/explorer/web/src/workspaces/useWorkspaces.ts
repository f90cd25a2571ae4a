import { useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

import { MAY, Workspaces, type WorkspaceHead } from "../api/workspaces";
import { useSession } from "../session/session";

/** The workspaces of the graph that is looked at, of every kind, where one may read them. */
export function useWorkspaceList(): UseQueryResult<WorkspaceHead[]> {
  const { graph, graphId, may } = useSession();
  return useQuery({
    queryKey: ["workspaces", graphId],
    queryFn: ({ signal }) => new Workspaces(graph.http).list(undefined, signal),
    enabled: may(MAY.read),
  });
}

/** The client of them, and a way to say that the list is old. */
export function useWorkspaces(): { client: Workspaces; refresh(): Promise<void> } {
  const { graph, graphId } = useSession();
  const queries = useQueryClient();
  const client = useMemo(() => new Workspaces(graph.http), [graph]);
  const refresh = useCallback(
    () => queries.invalidateQueries({ queryKey: ["workspaces", graphId] }),
    [queries, graphId],
  );
  return { client, refresh };
}
