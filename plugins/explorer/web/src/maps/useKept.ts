import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";

import { MAY, Workspaces, type Kind, type Workspace, type WorkspaceHead } from "../api/workspaces";
import { useParameters } from "../app/search";
import { useSession } from "../session/session";

export interface Kept {
  workspaces: Workspaces;
  heads: readonly WorkspaceHead[];
  /** The one that is shown; undefined while it is read and where there is none. */
  current: Workspace | undefined;
  currentId: string | null;
  isLoading: boolean;
  error: Error | null;
  mayWrite: boolean;
  mayDelete: boolean;
  choose(id: string): void;
  /** Read anew what is listed, and the one that is shown; null is none, `fresh` is known already. */
  refresh(fresh?: Workspace | null): void;
}

/** The workspaces of a kind, of which the address names the one that is shown. */
export function useKept(kind: Kind, show: string): Kept {
  const { graph, graphId, may } = useSession();
  const client = useQueryClient();
  const [parameters, setParameters] = useParameters();
  const workspaces = useMemo(() => new Workspaces(graph.http), [graph]);
  const listed = useQuery({
    queryKey: ["workspaces", graphId, "of", kind],
    queryFn: ({ signal }) => workspaces.list(kind, signal),
    enabled: may(MAY.read),
  });
  const heads = listed.data ?? [];
  const currentId = parameters.get("id") ?? heads[0]?.id ?? null;
  const read = useQuery({
    queryKey: ["workspace", graphId, currentId],
    queryFn: ({ signal }) => workspaces.read(currentId ?? "", signal),
    enabled: currentId !== null && may(MAY.read),
    retry: false,
  });
  return {
    workspaces,
    heads,
    current: currentId === null ? undefined : read.data,
    currentId,
    isLoading: listed.isLoading || read.isLoading,
    error: listed.error ?? (currentId === null ? null : read.error),
    mayWrite: may(MAY.write),
    mayDelete: may(MAY.delete),
    choose: (id) => setParameters({ show, ...(id === "" ? {} : { id }) }),
    refresh: (fresh) => {
      if (fresh) client.setQueryData(["workspace", graphId, fresh.id], fresh);
      void client.invalidateQueries({ queryKey: ["workspaces", graphId] });
      if (fresh === undefined) {
        void client.invalidateQueries({ queryKey: ["workspace", graphId, currentId] });
      }
    },
  };
}
