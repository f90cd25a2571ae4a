import {
  useMutation,
  useQuery,
  useQueryClient,
  type UseMutationResult,
  type UseQueryResult,
} from "@tanstack/react-query";
import { useMemo } from "react";

import {
  ControlClient,
  type Organization,
  type Project,
  type Resource,
  type ResourceStatus,
  type Scope,
} from "../api/control";
import { covers } from "../session/permissions";
import { useProjects, useResources, type Pace } from "../session/graphs";
import { useSession } from "../session/session";

/** How often states are asked for, in milliseconds: while one moves, and otherwise. */
const MOVING = 800;
const STILL = 15_000;

export function isMoving(status: ResourceStatus): boolean {
  return status === "creating" || status === "updating" || status === "deleting";
}

/** Whether the service takes a change of a resource in its state. */
export function isChangeable({ status }: Resource): boolean {
  return status === "running" || status === "error";
}

/** The control plane of the session, which must have one. */
export function useControl(): ControlClient {
  const { control } = useSession();
  return useMemo(() => {
    if (control === null) throw new Error("There is no control plane here.");
    return new ControlClient(control);
  }, [control]);
}

export interface Tenants {
  organizations: Organization[];
  projects: Project[];
  resources: Resource[];
}

const pace: Pace = (resources) =>
  resources?.some((one) => isMoving(one.status)) === true ? MOVING : STILL;

/** Everything that one may see, with states that keep up. */
export function useTenants(): {
  tenants: Tenants | undefined;
  error: Error | null;
  refetch(): void;
} {
  const { control } = useSession();
  const organizations = useRead(["organizations"], (client, signal) =>
    client.listOrganizations(signal),
  );
  const projects = useProjects(control);
  const { resources, isLoaded, error } = useResources(control, projects.data ?? [], pace);
  const complete = organizations.data !== undefined && projects.data !== undefined && isLoaded;
  return {
    tenants: complete
      ? {
          organizations: withUnseen(organizations.data, projects.data),
          projects: projects.data,
          resources,
        }
      : undefined,
    error: organizations.error ?? projects.error ?? error,
    refetch: () => {
      void organizations.refetch();
      void projects.refetch();
    },
  };
}

/** Organizations of projects that one may see without seeing the organization go by their id. */
function withUnseen(organizations: Organization[], projects: Project[]): Organization[] {
  const known = new Set(organizations.map((one) => one.organization_id));
  const unseen = new Set(projects.map((one) => one.organization_id).filter((id) => !known.has(id)));
  return [
    ...organizations,
    ...[...unseen].map((id) => ({ organization_id: id, name: id, created_at: "" })),
  ];
}

/** Whether the caller holds a permission at a scope; nothing while that is not known. */
export function useMayAt(scope: Scope): (permission: string) => boolean {
  const control = useControl();
  const { data } = useQuery({
    queryKey: ["control", "permissions", scope],
    queryFn: ({ signal }) => control.readPermissions(scope, signal),
  });
  return (permission) => data !== undefined && covers(data, permission);
}

/** Something that is read at the control plane, below the key `control`. */
export function useRead<T>(
  key: readonly unknown[],
  read: (control: ControlClient, signal: AbortSignal) => Promise<T>,
  refetchInterval: number | false = false,
): UseQueryResult<T> {
  const control = useControl();
  return useQuery({
    queryKey: ["control", ...key],
    queryFn: ({ signal }) => read(control, signal),
    refetchInterval,
  });
}

/** A change at the control plane, after which everything of it is read anew. */
export function useChange<V, T>(
  change: (control: ControlClient, values: V) => Promise<T>,
): UseMutationResult<T, Error, V> {
  const control = useControl();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (values: V) => change(control, values),
    onSettled: () => client.invalidateQueries({ queryKey: ["control"] }),
  });
}
