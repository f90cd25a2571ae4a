import { useQuery, type UseQueryResult } from "@tanstack/react-query";

import { ControlClient, type Resource } from "../api/control";
import type { Http } from "../api/http";

export const GRAPH_TYPE = "Platform.Graph";
/** What the graph of the service itself is called. */
export const OWN_NAME = "This service";

/** The hosted graphs that one may see and that are up, by name; none without a control plane. */
export function useHostedGraphs(control: Http | null): UseQueryResult<Resource[]> {
  return useQuery({
    queryKey: ["control", "graphs"],
    queryFn: ({ signal }) => listGraphs(new ControlClient(control as Http), signal),
    enabled: control !== null,
    staleTime: 10_000,
  });
}

async function listGraphs(control: ControlClient, signal: AbortSignal): Promise<Resource[]> {
  const projects = await control.listProjects(signal);
  const resources = await Promise.all(
    projects.map((project) => control.listResources(project.project_id, signal)),
  );
  return resources
    .flat()
    .filter((one) => one.type === GRAPH_TYPE && isUp(one))
    .sort((one, other) => one.name.localeCompare(other.name));
}

/** Whether a graph is served: also while it changes, once it has an address. */
export function isUp({ status }: Resource): boolean {
  return status === "running" || status === "updating";
}
