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
import { useProjects, useResources } from "../session/graphs";
import { useSession } from "../session/session";

/** How often states are asked for, in milliseconds: while one moves, otherwise, and out of sight. */
const MOVING = 800;
const STILL = 15_000;
const HIDDEN = 60_000;

export function isMoving(status: ResourceStatus): boolean {
  return status === "creating" || status === "updating" || status === "deleting";
}

/** Whether the service takes a change of a resource in its state. */
export function isChangeable({ status }: Resource): boolean {
  return status === "running" || status === "error";
}

/** Whether there is something left to delete that is not about to go. */
export function isDeletable({ status }: Resource): boolean {
  return status !== "deleting" && status !== "terminated";
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
  /** The projects whose resources are not known: why, or null while they are asked for. */
  unread: ReadonlyMap<string, Error | null>;
}

/** How often the states in a project are asked for; those of the one that is looked at are new. */
export function paceOf(resources: Resource[] | undefined, isShown: boolean): number {
  if (resources?.some((one) => isMoving(one.status)) === true) return MOVING;
  return isShown ? STILL : HIDDEN;
}

/** Everything that one may see, with states that keep up; `shown` is the project looked at. */
export function useTenants(shown: string | null): {
  tenants: Tenants | undefined;
  error: Error | null;
  refetch(): void;
} {
  const { control } = useSession();
  const client = useQueryClient();
  const organizations = useRead(
    ["organizations"],
    (one, signal) => one.listOrganizations(signal),
    STILL,
  );
  const projects = useProjects(control, STILL);
  const { resources, unread, error } = useResources(
    control,
    projects.data ?? [],
    (known, projectId) => paceOf(known, projectId === shown),
  );
  return {
    tenants:
      organizations.data !== undefined && projects.data !== undefined
        ? {
            organizations: withUnseen(organizations.data, projects.data),
            projects: projects.data,
            resources,
            unread,
          }
        : undefined,
    error: organizations.error ?? projects.error ?? error,
    refetch: () => void client.invalidateQueries({ queryKey: ["control"] }),
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

/** All organizations: the scope of whoever runs the service. */
export const PLATFORM: Scope = { type: "platform", id: "platform" };

/** Whether there is something of the platform that the caller may see; null while not known. */
export function useSeesPlatform(): boolean | null {
  const { data, error } = usePermissions(PLATFORM);
  if (data === undefined) return error === null ? null : false;
  return covers(data, "access/read") || covers(data, "audit/read");
}

/** Whether the caller holds a permission at a scope; nothing while that is not known. */
export function useMayAt(scope: Scope): (permission: string) => boolean {
  const { data } = usePermissions(scope);
  return (permission) => data !== undefined && covers(data, permission);
}

/** What the caller may do at a scope, as grants. */
export function usePermissions(scope: Scope): UseQueryResult<string[]> {
  return useRead(["permissions", scope], (control, signal) =>
    control.readPermissions(scope, signal),
  );
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
