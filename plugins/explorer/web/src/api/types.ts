/** Documents of the graph API as they travel, after the vendor's wire format. */

/** A bigint is a whole number beyond what a number holds exactly; `json.ts` reads and writes them. */
export type Json = null | boolean | number | bigint | string | Json[] | { [name: string]: Json };
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

/** What a statement changed, as `POST /cypher` counts it. */
export interface Statistics {
  nodesCreated: number;
  nodesDeleted: number;
  relationshipsCreated: number;
  relationshipsDeleted: number;
  propertiesSet: number;
  labelsAdded: number;
  labelsRemoved: number;
}

/** The rows of a statement that may write, with what it changed, or would where it is rehearsed. */
export interface StatementPage extends QueryPage {
  columns: string[];
  statistics: Statistics;
}

export interface QueryWarning {
  code: string;
  message: string;
  line: number;
  column: number;
  suggestion?: string | null;
}

/** The one row that a query answers which begins with EXPLAIN, or with PROFILE. */
export interface Explanation extends JsonObject {
  /** The plan as indented text. */
  plan: string;
  pushed: PushedPart[];
  operators: PlanOperator[];
  /** Of PROFILE: what answered, the rows of the whole run, and how long it took. */
  engine?: string;
  rows?: number;
  milliseconds?: number;
}

/** A part of a plan that the store runs itself, and what it is given for it (SQL, SPARQL). */
export interface PushedPart extends JsonObject {
  engine: string;
  plan: string;
  statement: string;
  indexes: string[];
}

/**
 * One operator of a plan. They come as a flat list, since a plan may be deeper than JSON may nest:
 * the first is the root, and `children` are indexes into the list, as `d3.hierarchy` can read.
 */
export interface PlanOperator extends JsonObject {
  operator: string;
  /** The rest of it as text, of several lines for a match; may be empty. */
  arguments: string;
  children: number[];
  /** The index in `pushed` of the part that runs it; null where the evaluator does. */
  part: number | null;
  /** Of PROFILE, null where they are unknown; the time is that of all below it, too. */
  rows?: number | null;
  milliseconds?: number | null;
  /** Why they are unknown, or how else than in the run they were found. */
  note?: string | null;
}

/** The words of both query languages, for completion: `language.json` beside the page. */
export interface LanguageWords {
  cypher: Dialect;
  adt: Dialect;
}

export interface Dialect {
  keywords: string[];
  /** Words that begin a clause which writes, such as CREATE; empty where there are none. */
  writing: string[];
  functions: LanguageFunction[];
}

export interface LanguageFunction {
  name: string;
  /** Such as `substring(text, start, length?) → text`. */
  signature: string;
  documentation: string;
  group: string;
  aliases: string[];
  aggregate: boolean;
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
  /** What tokens for the graphs and for the control plane have to name; empty where none are taken. */
  audience: string;
  controlAudience: string;
  /** Where the control plane's operations are, such as `/api/v1`; null where there is none. */
  control: string | null;
  /** Whether graphs of the control plane are served at `{base}/graphs/{id}`. */
  hosting: boolean;
  /** Whether changes can be followed at `/events`. */
  events: boolean;
  /** After how many seconds without a change that stream shows that it is alive. */
  heartbeat: number;
}
