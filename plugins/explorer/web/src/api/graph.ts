import { readBody, type Http } from "./http";
import type {
  IncomingRelationship,
  Json,
  JsonObject,
  ModelEntry,
  OwnPermissions,
  Page,
  PatchOperation,
  QueryPage,
  QueryWarning,
  StatementPage,
  Relationship,
  Twin,
} from "./types";

const part = encodeURIComponent;
const PATCH = { "Content-Type": "application/json-patch+json" };

export interface QueryOptions {
  parameters?: JsonObject;
  continuationToken?: string;
  pageSize?: number;
  /** The moment that the answer is of, where the graph keeps its history; now without it. */
  asOf?: string;
  signal?: AbortSignal;
}

/** The operations of one graph. Every method throws `ApiError`. */
export class GraphClient {
  constructor(readonly http: Http) {}

  readPermissions(): Promise<OwnPermissions> {
    return this.http.json("/permissions");
  }

  // --- twins ---

  readTwin(id: string, signal?: AbortSignal): Promise<Twin> {
    return this.http.json(`/digitaltwins/${part(id)}`, { signal });
  }

  /** Creates a twin; 412 where there is one of this id. */
  createTwin(id: string, document: JsonObject): Promise<Twin> {
    return this.http.json(`/digitaltwins/${part(id)}`, {
      method: "PUT",
      headers: { "If-None-Match": "*" },
      body: document,
    });
  }

  async patchTwin(id: string, patch: PatchOperation[], etag: string): Promise<void> {
    await this.http.send(`/digitaltwins/${part(id)}`, {
      method: "PATCH",
      headers: { ...PATCH, "If-Match": etag },
      body: patch,
    });
  }

  async deleteTwin(id: string, etag = "*"): Promise<void> {
    await this.http.send(`/digitaltwins/${part(id)}`, {
      method: "DELETE",
      headers: { "If-Match": etag },
    });
  }

  // --- relationships ---

  readRelationship(source: string, id: string, signal?: AbortSignal): Promise<Relationship> {
    return this.http.json(`/digitaltwins/${part(source)}/relationships/${part(id)}`, { signal });
  }

  /** All outgoing relationships of a twin, page after page, at most `limit`. */
  async listRelationships(
    source: string,
    limit = 1000,
    signal?: AbortSignal,
  ): Promise<Relationship[]> {
    return this.list(`/digitaltwins/${part(source)}/relationships`, limit, signal);
  }

  /** Its outgoing relationships of one name, at most `limit`. */
  async listRelationshipsOf(
    source: string,
    name: string,
    limit: number,
    signal?: AbortSignal,
  ): Promise<Relationship[]> {
    const query = new URLSearchParams({ relationshipName: name }).toString();
    return this.list(`/digitaltwins/${part(source)}/relationships?${query}`, limit, signal);
  }

  async listIncoming(
    target: string,
    limit = 1000,
    signal?: AbortSignal,
  ): Promise<IncomingRelationship[]> {
    return this.list(`/digitaltwins/${part(target)}/incomingrelationships`, limit, signal);
  }

  /** One page of the relationships that lead from a twin; `next` is the nextLink of the last. */
  pageRelationships(
    source: string,
    next: string | null,
    signal?: AbortSignal,
  ): Promise<Page<Relationship>> {
    const path = `/digitaltwins/${part(source)}/relationships`;
    return this.http.json(next === null ? path : this.http.follow(next), { signal });
  }

  /** One page of those that lead to a twin. */
  pageIncoming(
    target: string,
    next: string | null,
    signal?: AbortSignal,
  ): Promise<Page<IncomingRelationship>> {
    const path = `/digitaltwins/${part(target)}/incomingrelationships`;
    return this.http.json(next === null ? path : this.http.follow(next), { signal });
  }

  createRelationship(source: string, id: string, document: JsonObject): Promise<Relationship> {
    return this.http.json(`/digitaltwins/${part(source)}/relationships/${part(id)}`, {
      method: "PUT",
      headers: { "If-None-Match": "*" },
      body: document,
    });
  }

  async patchRelationship(
    source: string,
    id: string,
    patch: PatchOperation[],
    etag: string,
  ): Promise<void> {
    await this.http.send(`/digitaltwins/${part(source)}/relationships/${part(id)}`, {
      method: "PATCH",
      headers: { ...PATCH, "If-Match": etag },
      body: patch,
    });
  }

  async deleteRelationship(source: string, id: string, etag = "*"): Promise<void> {
    await this.http.send(`/digitaltwins/${part(source)}/relationships/${part(id)}`, {
      method: "DELETE",
      headers: { "If-Match": etag },
    });
  }

  /** Several writes, all or none (`POST /$transaction`). */
  transact(operations: JsonObject[]): Promise<Json> {
    return this.http.json("/$transaction", { method: "POST", body: { operations } });
  }

  /** Telemetry of a twin, or of one of its components. */
  async sendTelemetry(id: string, component: string | null, values: JsonObject): Promise<void> {
    const at = component === null ? "" : `/components/${part(component)}`;
    await this.http.send(`/digitaltwins/${part(id)}${at}/telemetry`, {
      method: "POST",
      body: values,
    });
  }

  // --- models ---

  /** Every model with its DTDL. */
  listModels(signal?: AbortSignal): Promise<ModelEntry[]> {
    return this.list("/models?includeModelDefinition=true", 100_000, signal);
  }

  createModels(documents: Json[]): Promise<ModelEntry[]> {
    return this.http.json("/models", { method: "POST", body: documents });
  }

  async decommissionModel(id: string): Promise<void> {
    await this.http.send(`/models/${part(id)}`, {
      method: "PATCH",
      headers: PATCH,
      body: [{ op: "replace", path: "/decommissioned", value: true }],
    });
  }

  async deleteModel(id: string): Promise<void> {
    await this.http.send(`/models/${part(id)}`, { method: "DELETE" });
  }

  // --- queries ---

  /** One page of a query, in Cypher or the vendor's language. */
  async query(text: string, options: QueryOptions = {}): Promise<QueryPage> {
    const started = performance.now();
    const response = await this.http.send("/query", {
      method: "POST",
      ...(options.pageSize ? { headers: { "max-items-per-page": String(options.pageSize) } } : {}),
      body: {
        query: text,
        ...(options.parameters ? { parameters: options.parameters } : {}),
        ...(options.asOf ? { asOf: options.asOf } : {}),
        ...(options.continuationToken ? { continuationToken: options.continuationToken } : {}),
      },
      signal: options.signal,
    });
    const body = await readBody<{
      value: JsonObject[];
      continuationToken: string | null;
      warnings?: QueryWarning[];
    }>(response);
    return {
      value: body.value,
      continuationToken: body.continuationToken,
      warnings: body.warnings ?? [],
      charge: chargeOf(response),
      milliseconds: performance.now() - started,
    };
  }

  /**
   * Run a statement that may write, all or nothing. `rehearse` runs it and keeps nothing of it.
   */
  async runStatement(
    text: string,
    options: QueryOptions & { rehearse?: boolean } = {},
  ): Promise<StatementPage> {
    const started = performance.now();
    const { parameters = {}, rehearse = false, signal } = options;
    const response = await this.http.send("/cypher", {
      method: "POST",
      body: { query: text, parameters, rehearse },
      signal,
    });
    const body = await readBody<Pick<StatementPage, "columns" | "value" | "statistics">>(response);
    return {
      ...body,
      continuationToken: null,
      warnings: [],
      charge: chargeOf(response),
      milliseconds: performance.now() - started,
    };
  }

  private async list<T>(path: string, limit: number, signal?: AbortSignal): Promise<T[]> {
    const found: T[] = [];
    let next: string | null = path;
    while (next !== null && found.length < limit) {
      const page: Page<T> = await this.http.json(next, { signal });
      found.push(...page.value);
      next = page.nextLink === null ? null : this.http.follow(page.nextLink);
    }
    return found.slice(0, limit);
  }
}

function chargeOf(response: Response): number | null {
  const charge = Number.parseFloat(response.headers.get("query-charge") ?? "");
  return Number.isNaN(charge) ? null : charge;
}
