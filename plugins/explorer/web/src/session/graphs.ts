import { useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";

import { ControlClient, type Project, type Resource } from "../api/control";
import type { Http } from "../api/http";

export const GRAPH_TYPE = "Platform.Graph";
/** What the graph of the service itself is called. */
export const OWN_NAME = "This service";

/** How often to ask again, in milliseconds, judged by what was answered last. */
export type Pace = (resources: Resource[] | undefined) => number | false;

export interface Resources {
  resources: Resource[];
  /** Whether all that there are have been read. */
  isLoaded: boolean;
  error: Error | null;
}

/** The projects that one may see; none without a control plane. */
export function useProjects(control: Http | null): UseQueryResult<Project[]> {
  return useQuery({
    queryKey: ["control", "projects"],
    queryFn: ({ signal }) => new ControlClient(control as Http).listProjects(signal),
    enabled: control !== null,
  });
}

/** The resources of projects. */
export function useResources(
  control: Http | null,
  projects: readonly Project[],
  pace: Pace = () => false,
): Resources {
  return useQueries({
    queries: projects.map(({ project_id: id }) => ({
      queryKey: ["control", "resources", id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        new ControlClient(control as Http).listResources(id, signal),
      enabled: control !== null,
      refetchInterval: (query: { state: { data?: Resource[] | undefined } }) =>
        pace(query.state.data),
    })),
    combine: joinResources,
  });
}

function joinResources(results: UseQueryResult<Resource[]>[]): Resources {
  return {
    resources: results.flatMap((one) => one.data ?? []),
    isLoaded: results.every((one) => one.data !== undefined),
    error: results.find((one) => one.error !== null)?.error ?? null,
  };
}

const NONE: Project[] = [];

/** The hosted graphs that one may see and that are up, by name; none without a control plane. */
export function useHostedGraphs(control: Http | null): Resource[] {
  const { data: projects = NONE } = useProjects(control);
  const { resources } = useResources(control, projects);
  return useMemo(
    () =>
      resources
        .filter((one) => one.type === GRAPH_TYPE && isUp(one))
        .sort((one, other) => one.name.localeCompare(other.name)),
    [resources],
  );
}

/** Whether a graph is served: also while it changes. */
export function isUp({ status }: Resource): boolean {
  return status === "running" || status === "updating";
}
