import { ApiError, readError } from "./errors";

export interface Call {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  /** Sent as it is instead of `body`. */
  text?: string;
  signal?: AbortSignal | undefined;
}

/** Gives the access token to send, refreshed where need be; null sends none. */
export type TokenSource = () => Promise<string | null>;

/** Calls one API. It knows no operation; `graph.ts` and `control.ts` do. */
export class Http {
  constructor(
    /** An absolute path or URL without a slash at its end. */
    readonly root: string,
    private readonly token: TokenSource,
    private readonly onUnauthorized: () => void = () => undefined,
  ) {}

  /** The answer, whose status is a success. Throws `ApiError`; an abort throws as fetch does. */
  async send(path: string, call: Call = {}): Promise<Response> {
    const headers = new Headers(call.headers);
    const token = await this.token();
    if (token !== null) headers.set("Authorization", `Bearer ${token}`);
    const body = call.text ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
    if (body !== undefined && !headers.has("Content-Type")) {
      headers.set("Content-Type", "application/json");
    }
    let response: Response;
    try {
      response = await fetch(this.root + path, {
        method: call.method ?? "GET",
        headers,
        body: body ?? null,
        signal: call.signal ?? null,
      });
    } catch (error) {
      if (call.signal?.aborted) throw error;
      throw new ApiError(0, "NoAnswer", "The service does not answer. Is it running?");
    }
    if (response.ok) return response;
    if (response.status === 401) this.onUnauthorized();
    throw await readError(response);
  }

  async json<T>(path: string, call: Call = {}): Promise<T> {
    return (await (await this.send(path, call)).json()) as T;
  }
}
