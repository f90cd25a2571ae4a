/** Documents of the graph API as they travel, after the vendor's wire format. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export interface Twin extends JsonObject {
  $dtId: string;
  $etag: string;
  $metadata: { $model: string } & JsonObject;
}

export interface Relationship extends JsonObject {
  $relationshipId: string;
  $relationshipName: string;
  $sourceId: string;
  $targetId: string;
  $etag: string;
}

export interface IncomingRelationship {
  $relationshipId: string;
  $relationshipName: string;
  $sourceId: string;
  $relationshipLink: string;
}

/** A model as `GET /models` lists it; `model` is its DTDL when asked for. */
export interface ModelEntry {
  id: string;
  uploadTime: string;
  decommissioned: boolean;
  displayName?: Record<string, string>;
  description?: Record<string, string>;
  model?: JsonObject;
}

export interface Page<T> {
  value: T[];
  nextLink: string | null;
}

/** A page of a query. `charge` is the header `query-charge`, `milliseconds` as seen from here. */
export interface QueryPage {
  value: JsonObject[];
  continuationToken: string | null;
  warnings: QueryWarning[];
  charge: number | null;
  milliseconds: number;
}

export interface QueryWarning {
  code: string;
  message: string;
  line: number;
  column: number;
  suggestion?: string | null;
}

export interface PatchOperation {
  op: "add" | "remove" | "replace" | "test" | "move" | "copy";
  path: string;
  value?: Json;
  from?: string;
}

/** What `GET /permissions` answers: what the caller may do at this graph. */
export interface OwnPermissions {
  subject: string | null;
  permissions: string[];
}

/** What the service tells the page about itself: `configuration.json` beside it. */
export interface Configuration {
  version: string;
  /** The path of the data plane as the page is called, such as `` or `/api`; no slash at its end. */
  base: string;
  /** Whether callers are asked for credentials. */
  authentication: boolean;
  /** How one signs in; null where a token is pasted or nobody is asked. */
  signIn: { authority: string; clientId: string; scopes: string[]; audience: string } | null;
  /** The address of the control plane; null where there is none. */
  control: string | null;
  /** Whether graphs of the control plane are served at `{base}/graphs/{id}`. */
  hosting: boolean;
  /** Whether changes can be followed at `/events`. */
  events: boolean;
}
