import { useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";

import { ControlClient, type Project, type Resource } from "../api/control";
import type { Http } from "../api/http";

export const GRAPH_TYPE = "Platform.Graph";
/** What the graph of the service itself is called. */
export const OWN_NAME = "This service";

/** How often to ask again, in milliseconds, judged by what was answered last. */
export type Pace = (resources: Resource[] | undefined, projectId: string) => number | false;

export interface Resources {
  resources: Resource[];
  /** The projects whose resources have not been read: null as long as nothing has come. */
  unread: ReadonlyMap<string, Error | null>;
  /** Why something of it is not up to date. */
  error: Error | null;
}

/** The projects that one may see; none without a control plane. */
export function useProjects(
  control: Http | null,
  refetchInterval: number | false = false,
): UseQueryResult<Project[]> {
  return useQuery({
    queryKey: ["control", "projects"],
    queryFn: ({ signal }) => new ControlClient(control as Http).listProjects(signal),
    enabled: control !== null,
    refetchInterval,
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
        pace(query.state.data, id),
    })),
    combine: (results) => joinResources(projects, results),
  });
}

function joinResources(
  projects: readonly Project[],
  results: UseQueryResult<Resource[]>[],
): Resources {
  const missing = projects.flatMap(({ project_id: id }, place): [string, Error | null][] => {
    const one = results[place];
    return one?.data === undefined ? [[id, one?.error ?? null]] : [];
  });
  return {
    resources: results.flatMap((one) => one.data ?? []),
    unread: new Map(missing),
    error: results.find((one) => one.error !== null)?.error ?? null,
  };
}

/**
 * The resources at which the caller holds a role, by id: whoever holds none further up finds them
 * in no project.
 */
export function useOwnResources(control: Http | null): UseQueryResult<string[]> {
  return useQuery({
    queryKey: ["control", "own-resources"],
    queryFn: async ({ signal }) => {
      const held = await new ControlClient(control as Http).listOwnAssignments(signal);
      const ids = held.filter((one) => one.scope_type === "resource").map((one) => one.scope_id);
      return [...new Set(ids)].sort();
    },
    enabled: control !== null,
  });
}

/** A graph of the control plane that can be looked at. */
export interface HostedGraph {
  id: string;
  name: string;
  /** Where it is, in a word. */
  place: string;
}

const NO_PROJECTS: Project[] = [];
const NO_IDS: string[] = [];
/** How often states are asked for while one of them is about to change, in milliseconds. */
const MOVING = 2000;

const paceOfGraphs: Pace = (resources) =>
  resources?.some((one) => one.status === "creating") === true ? MOVING : false;

/** The hosted graphs that one may see and that are up, by name; none without a control plane. */
export function useHostedGraphs(control: Http | null): HostedGraph[] {
  const { data: projects = NO_PROJECTS } = useProjects(control);
  const { resources } = useResources(control, projects, paceOfGraphs);
  const { data: own = NO_IDS } = useOwnResources(control);
  return useMemo(() => {
    const seen = new Set(resources.map((one) => one.resource_id));
    const single = own.filter((id) => !seen.has(id));
    return [
      ...resources
        .filter((one) => one.type === GRAPH_TYPE && isUp(one))
        .map((one) => ({
          id: one.resource_id,
          name: one.name,
          place: `${one.project_id} · ${one.resource_id}`,
        })),
      ...single.map((id) => ({ id, name: id, place: "You hold a role at it" })),
    ].sort((one, other) => one.name.localeCompare(other.name));
  }, [resources, own]);
}

/** Whether a graph is served: also while it changes. */
export function isUp({ status }: Resource): boolean {
  return status === "running" || status === "updating";
}
