import { readBody, type Http } from "./http";
import { parseJson } from "./json";
import type { Json, JsonObject, Page } from "./types";

const part = encodeURIComponent;

/** A file that is handed over to the service in pieces. */
export interface Upload {
  id: string;
  name: string;
  bytes: number;
  receivedBytes: number;
  receivedPieces: number;
  pieceBytes: number;
  inputBlobUri: string;
  jobId: string | null;
}

export interface UploadList {
  value: Upload[];
  /** Of all together; 0 where the operator allows none. */
  mostBytes: number;
}

export type JobStatus =
  "notstarted" | "running" | "failed" | "succeeded" | "cancelling" | "cancelled";

interface JobState {
  id: string;
  status: JobStatus;
  createdDateTime: string;
  finishedDateTime?: string;
  error?: { code: string; message: string };
}

export interface ImportJob extends JobState {
  inputBlobUri: string;
  lastActionDateTime: string;
  modelsCreated: number;
  modelsSkipped: number;
  twinsCreated: number;
  /** Those of `twinsCreated` that existed already. */
  twinsReplaced: number;
  relationshipsCreated: number;
  changesCreated: number;
  pointsCreated: number;
  errorCount: number;
  linesRead: number;
  bytesRead: number;
  totalBytes: number;
}

export interface DeleteJob extends JobState {
  relationshipsDeleted: number;
  twinsDeleted: number;
  modelsDeleted: number;
}

/** What an import refused, as its log has it. */
export interface RefusedLine {
  /** The number of its line, or its path in a file that is one JSON document. */
  where: number | string;
  section: string;
  id: string | null;
  message: string;
}

export interface EventRoute {
  id: string;
  endpointName: string;
  filter: string;
}

export interface RouteStatus {
  position: number;
  lastPosition: number;
  behind: number;
  delivered: number;
  deadLettersKept: number;
  lost: number;
  error: string;
  halted: boolean;
}

export interface Endpoint {
  name: string;
  type: string;
  form: string;
}

export interface DeadLetter {
  position: number;
  error: string;
  attempts: number;
  time: string;
  event: JsonObject;
}

export interface FilterTrial {
  examined: number;
  value: { position: number; event: JsonObject }[];
}

export interface KeptPast {
  changes: {
    kept: boolean;
    reason: string | null;
    firstPosition: number;
    lastPosition: number;
    since: string | null;
    bytes: number;
  };
  points: { kept: boolean; since: string | null; bytes: number } | null;
  settings: { key: string; value: Json; description: string }[];
}

/** Whether a job only changes when somebody asks for it. */
export function isOver({ status }: { status: JobStatus }): boolean {
  return status === "failed" || status === "succeeded" || status === "cancelled";
}

/** Whole graphs in and out, jobs, event routes and what is kept. Every method throws `ApiError`. */
export class TransferClient {
  constructor(readonly http: Http) {}

  // --- uploads and imports ---

  listUploads(signal?: AbortSignal): Promise<UploadList> {
    return this.http.json("/jobs/uploads", { signal });
  }

  /** Begins an upload, or gives it as it stands where it is of the same file. */
  beginUpload(id: string, name: string, bytes: number): Promise<Upload> {
    return this.http.json(`/jobs/uploads/${part(id)}`, { method: "PUT", body: { name, bytes } });
  }

  putPiece(id: string, number: number, piece: Blob, signal?: AbortSignal): Promise<Upload> {
    return this.http.json(`/jobs/uploads/${part(id)}/pieces/${number}`, {
      method: "PUT",
      text: piece,
      signal,
    });
  }

  async deleteUpload(id: string): Promise<void> {
    await this.http.send(`/jobs/uploads/${part(id)}`, { method: "DELETE" });
  }

  startImport(id: string, inputBlobUri: string, history: boolean): Promise<ImportJob> {
    return this.http.json(`/jobs/imports/${part(id)}`, {
      method: "PUT",
      body: { inputBlobUri, history },
    });
  }

  listImports(signal?: AbortSignal): Promise<ImportJob[]> {
    return this.list("/jobs/imports", signal);
  }

  listDeletions(signal?: AbortSignal): Promise<DeleteJob[]> {
    return this.list("/jobs/deletions", signal);
  }

  /** The ids of the first twins that an import stored. */
  async readFirstTwins(id: string): Promise<string[]> {
    const job = await this.http.json<{ firstTwins: string[] }>(`/jobs/imports/${part(id)}`);
    return job.firstTwins;
  }

  cancelImport(id: string): Promise<ImportJob> {
    return this.http.json(`/jobs/imports/${part(id)}/cancel`, { method: "POST" });
  }

  resumeImport(id: string): Promise<ImportJob> {
    return this.http.json(`/jobs/imports/${part(id)}/resume`, { method: "POST" });
  }

  async deleteImport(id: string): Promise<void> {
    await this.http.send(`/jobs/imports/${part(id)}`, { method: "DELETE" });
  }

  async readLog(id: string, signal?: AbortSignal): Promise<Blob> {
    return (await this.http.send(`/jobs/imports/${part(id)}/log`, { signal })).blob();
  }

  startDeletion(): Promise<DeleteJob> {
    return this.http.json("/jobs/deletions", { method: "POST" });
  }

  // --- exports ---

  exportGraph(history: boolean, plain: boolean, signal: AbortSignal): Promise<Response> {
    const query = new URLSearchParams({ history: String(history), plain: String(plain) });
    return this.http.send(`/export/graph?${query.toString()}`, { signal });
  }

  // --- event routes ---

  listRoutes(signal?: AbortSignal): Promise<EventRoute[]> {
    return this.list("/eventroutes", signal);
  }

  readRouteStatus(id: string, signal?: AbortSignal): Promise<RouteStatus> {
    return this.http.json(`/eventroutes/${part(id)}/status`, { signal });
  }

  async listEndpoints(signal?: AbortSignal): Promise<Endpoint[]> {
    return (await this.http.json<{ value: Endpoint[] }>("/events/endpoints", { signal })).value;
  }

  /** `isNew` refuses where there is one of this id. */
  async putRoute({ id, endpointName, filter }: EventRoute, isNew: boolean): Promise<void> {
    await this.http.send(`/eventroutes/${part(id)}`, {
      method: "PUT",
      headers: isNew ? { "If-None-Match": "*" } : {},
      body: { endpointName, filter },
    });
  }

  async deleteRoute(id: string): Promise<void> {
    await this.http.send(`/eventroutes/${part(id)}`, { method: "DELETE" });
  }

  tryFilter(filter: string): Promise<FilterTrial> {
    return this.http.json("/events/try", { method: "POST", body: { filter, limit: 5 } });
  }

  /** The first page of them. */
  async listDeadLetters(id: string, signal?: AbortSignal): Promise<DeadLetter[]> {
    const path = `/eventroutes/${part(id)}/deadletters`;
    return (await this.http.json<Page<DeadLetter>>(path, { signal })).value;
  }

  replayDeadLetters(id: string): Promise<{ count: number }> {
    return this.http.json(`/eventroutes/${part(id)}/deadletters/replay`, { method: "POST" });
  }

  deleteDeadLetters(id: string): Promise<{ count: number }> {
    return this.http.json(`/eventroutes/${part(id)}/deadletters`, { method: "DELETE" });
  }

  // --- history ---

  readKept(signal?: AbortSignal): Promise<KeptPast> {
    return this.http.json("/history", { signal });
  }

  private async list<T>(path: string, signal?: AbortSignal): Promise<T[]> {
    const found: T[] = [];
    let next: string | null = path;
    while (next !== null) {
      const page: Page<T> = await readBody(await this.http.send(next, { signal }));
      found.push(...page.value);
      next = page.nextLink === null ? null : this.http.follow(page.nextLink);
    }
    return found;
  }
}

/** The refused lines of a log, of which `most` are given, and how many there are in all. */
export function readRefused(log: string, most: number): { lines: RefusedLine[]; count: number } {
  const lines: RefusedLine[] = [];
  let count = 0;
  for (const text of log.split("\n")) {
    if (!text.includes('"logType":"Error"')) continue;
    const { details } = parseJson(text) as {
      details: { line?: number; path?: string; section?: string; id?: string; error?: JsonObject };
    };
    const where = details.path ?? details.line;
    if (where === undefined) continue;
    count += 1;
    if (lines.length >= most) continue;
    const { section = "", id = null } = details;
    lines.push({ where, section, id, message: tellWhy(details.error ?? {}) });
  }
  return { lines, count };
}

/** The first of its details says what was wrong; the message alone may only say that it was. */
function tellWhy(error: JsonObject): string {
  const details = error["details"];
  const first = Array.isArray(details) ? details[0] : null;
  if (first !== null && typeof first === "object" && !Array.isArray(first)) {
    const message = first?.["message"];
    if (typeof message === "string") return message;
  }
  return typeof error["message"] === "string" ? error["message"] : "It was refused.";
}
