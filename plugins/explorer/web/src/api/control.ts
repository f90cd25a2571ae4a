import type { Http } from "./http";
import type { Json, JsonObject } from "./types";

export type Moment = string;

export interface Organization {
  organization_id: string;
  name: string;
  created_at: Moment;
}

export interface Project {
  project_id: string;
  organization_id: string;
  name: string;
  created_at: Moment;
}

export type ResourceStatus =
  "creating" | "running" | "updating" | "error" | "deleting" | "terminated";

export type Sku = "free" | "pro" | "enterprise";

export interface Resource {
  resource_id: string;
  project_id: string;
  name: string;
  type: string;
  sku: Sku;
  status: ResourceStatus;
  settings_json: Json;
  created_at: Moment;
  updated_at: Moment;
  error_message?: string;
  access_url?: string;
}

export interface ResourceForm extends JsonObject {
  id: string;
  name: string;
  type: string;
  sku: Sku;
  settings_json: JsonObject;
}

export interface Operation {
  operation_id: string;
  type: string;
  status: string;
  requested_by: string;
  created_at: Moment;
  note: string;
  transitions: { at: Moment; from: ResourceStatus | null; to: ResourceStatus; reason: string }[];
  attempts: { number: number; at: Moment; outcome: string }[];
}

export interface Role {
  role_id: string;
  name: string;
  permissions: string[];
  built_in: boolean;
  description: string | null;
}

export interface Assignment {
  assignment_id: string;
  scope_type: string;
  scope_id: string;
  role_id: string;
  user_id: string | null;
  email: string | null;
  expires_at: Moment | null;
  created_by: string;
}

export interface UsageSample {
  from: Moment;
  to: Moment;
  twins: number;
  storage_bytes: number;
  operations: number;
  query_charge: number;
}

export interface QuotaState {
  quota: string;
  limit: number;
  used: number | null;
}

/** A billing account; one that is inherited and may not be read has empty texts. */
export interface Account {
  account_id: string;
  scope_type: string;
  scope_id: string;
  name: string;
  email: string;
}

/** A statement of a month, or its draft; amounts in minor units of the currency. */
export interface Statement {
  month: string;
  status: "final" | "draft";
  until: Moment;
  currency: string;
  total: number;
  line_items: {
    project_id: string;
    resource_id: string;
    sku: Sku;
    meter: string;
    amount: number;
  }[];
}

/** One change at the control plane. `position` grows with each. */
export interface AuditEntry {
  position: number;
  at: Moment;
  actor: string;
  actor_email: string | null;
  actor_kind: "user" | "service" | "operator";
  request_id: string;
  /** Such as `projects/create`. */
  action: string;
  /** Such as `project:campus`. */
  target: string;
  before: JsonObject | null;
  after: JsonObject | null;
}

export interface AuditPage {
  entries: AuditEntry[];
  total: number;
}

/** What roles are held at and counted within. */
export type Scope =
  | { type: "platform"; id: "platform" }
  | { type: "organization"; id: string }
  | { type: "project"; id: string }
  | { type: "resource"; id: string; projectId: string };

const part = encodeURIComponent;
/** The longest page that every installation gives. */
const PAGE = 50;

/** The path of what is at a scope, such as `role-assignments`. */
function pathOf(scope: Scope): string {
  if (scope.type === "platform") return "/platform";
  if (scope.type === "organization") return `/organizations/${part(scope.id)}`;
  if (scope.type === "project") return `/projects/${part(scope.id)}`;
  return `/projects/${part(scope.projectId)}/resources/${part(scope.id)}`;
}

/** The operations of the control plane that the page uses. Every method throws `ApiError`. */
export class ControlClient {
  /** `http` is rooted at the `/api/v1` of the control plane. */
  constructor(readonly http: Http) {}

  listOrganizations(signal?: AbortSignal): Promise<Organization[]> {
    return this.list("/organizations", "organizations", signal);
  }

  listProjects(signal?: AbortSignal): Promise<Project[]> {
    return this.list("/projects", "projects", signal);
  }

  createProject(form: { id: string; name: string; organization_id: string }): Promise<Project> {
    return this.http.json("/projects", { method: "POST", body: form });
  }

  listResources(projectId: string, signal?: AbortSignal): Promise<Resource[]> {
    return this.list(`/projects/${part(projectId)}/resources`, "resources", signal);
  }

  createResource(projectId: string, form: ResourceForm): Promise<Resource> {
    return this.http.json(`/projects/${part(projectId)}/resources`, { method: "POST", body: form });
  }

  async deleteResource(projectId: string, id: string): Promise<void> {
    await this.http.send(`/projects/${part(projectId)}/resources/${part(id)}`, {
      method: "DELETE",
    });
  }

  listOperations(projectId: string, id: string, signal?: AbortSignal): Promise<Operation[]> {
    const path = `/projects/${part(projectId)}/resources/${part(id)}/operations`;
    return this.list(path, "operations", signal);
  }

  /** What the caller may do at a scope, as grants. */
  async readPermissions(scope: Scope, signal?: AbortSignal): Promise<string[]> {
    const query = new URLSearchParams({ scopeType: scope.type, scopeId: scope.id });
    const answer = await this.http.json<{ permissions: string[] }>(
      `/permissions/check?${query.toString()}`,
      { signal },
    );
    return answer.permissions;
  }

  listAssignments(scope: Scope, signal?: AbortSignal): Promise<Assignment[]> {
    return this.list(`${pathOf(scope)}/role-assignments`, "role_assignments", signal);
  }

  createAssignment(scope: Scope, form: JsonObject): Promise<Assignment> {
    return this.http.json(`${pathOf(scope)}/role-assignments`, { method: "POST", body: form });
  }

  async deleteAssignment(id: string): Promise<void> {
    await this.http.send(`/role-assignments/${part(id)}`, { method: "DELETE" });
  }

  /** The roles that the caller was given, wherever that is. */
  listOwnAssignments(signal?: AbortSignal): Promise<Assignment[]> {
    return this.list("/users/me/role-assignments", "role_assignments", signal);
  }

  /** The roles that can be given: the built-in ones, and those of the organization. */
  async listRoles(organizationId: string | null, signal?: AbortSignal): Promise<Role[]> {
    const builtIn = await this.list<Role>("/roles", "roles", signal);
    if (organizationId === null) return builtIn;
    const path = `/organizations/${part(organizationId)}/roles`;
    return [...builtIn, ...(await this.list<Role>(path, "roles", signal))];
  }

  /** Give what is at a scope another name. */
  async rename(scope: Scope, name: string): Promise<void> {
    await this.http.send(pathOf(scope), { method: "PUT", body: { name } });
  }

  /** The changes at a scope and in it, the newest first; only those before a position. */
  readAudit(scope: Scope, before: number | null, signal?: AbortSignal): Promise<AuditPage> {
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (before !== null) query.set("before", String(before));
    return this.http.json(`${pathOf(scope)}/audit-log?${query.toString()}`, { signal });
  }

  readUsage(
    projectId: string,
    id: string,
    signal?: AbortSignal,
  ): Promise<{ month: string; samples: UsageSample[] }> {
    return this.http.json(`/projects/${part(projectId)}/resources/${part(id)}/usage`, { signal });
  }

  async readQuotas(projectId: string, id: string, signal?: AbortSignal): Promise<QuotaState[]> {
    const path = `/projects/${part(projectId)}/resources/${part(id)}/quotas`;
    return (await this.http.json<{ quotas: QuotaState[] }>(path, { signal })).quotas;
  }

  /** Who pays for a project; null is nobody. */
  async readPayer(projectId: string, signal?: AbortSignal): Promise<Account | null> {
    const path = `/projects/${part(projectId)}/billing-account`;
    const answer = await this.http.json<{ billing_account: Account | null }>(path, { signal });
    return answer.billing_account;
  }

  readStatement(accountId: string, month: string, signal?: AbortSignal): Promise<Statement> {
    return this.http.json(`/billing-accounts/${part(accountId)}/statements/${month}`, { signal });
  }

  private async list<T>(path: string, name: string, signal?: AbortSignal): Promise<T[]> {
    const found: T[] = [];
    for (;;) {
      const query = `limit=${PAGE}&offset=${found.length}`;
      const page = await this.http.json<Record<string, unknown>>(`${path}?${query}`, { signal });
      const items = page[name] as T[];
      found.push(...items);
      if (items.length === 0 || found.length >= (page["total"] as number)) return found;
    }
  }
}
