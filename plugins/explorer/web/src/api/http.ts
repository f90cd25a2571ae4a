import { ApiError, readError } from "./errors";
import { parseJson, renderJson } from "./json";
import { reportSilence } from "./silence";

export interface Call {
  method?: string;
  headers?: Record<string, string>;
  body?: object;
  /** Sent as it is instead of `body`; a blob is bytes without a form of their own. */
  text?: string | Blob;
  signal?: AbortSignal | undefined;
}

/** Gives the access token to send, refreshed where need be; null sends none. */
export type TokenSource = () => Promise<string | null>;

/** Hears of a token that was refused; answers whether there is another one to try with. */
export type Unauthorized = (token: string | null) => Promise<boolean>;

/** Calls one API. It knows no operation; `graph.ts` and `control.ts` do. */
export class Http {
  constructor(
    /** An absolute path or URL without a slash at its end. */
    readonly root: string,
    private readonly token: TokenSource,
    private readonly onUnauthorized: Unauthorized = () => Promise.resolve(false),
  ) {}

  /** The answer, whose status is a success. Throws `ApiError`; an abort throws as fetch does. */
  async send(path: string, call: Call = {}): Promise<Response> {
    const token = await this.token();
    const response = await this.fetch(path, call, token);
    if (response.ok) return response;
    if (response.status === 401 && (await this.onUnauthorized(token))) {
      const again = await this.fetch(path, call, await this.token());
      if (again.ok) return again;
      throw await readError(again);
    }
    throw await readError(response);
  }

  private async fetch(path: string, call: Call, token: string | null): Promise<Response> {
    const headers = new Headers(call.headers);
    if (token !== null) headers.set("Authorization", `Bearer ${token}`);
    const body = call.text ?? (call.body === undefined ? undefined : renderJson(call.body));
    if (body !== undefined && !headers.has("Content-Type")) {
      const type = body instanceof Blob ? "application/octet-stream" : "application/json";
      headers.set("Content-Type", type);
    }
    try {
      const answer = await fetch(this.root + path, {
        method: call.method ?? "GET",
        headers,
        body: body ?? null,
        signal: call.signal ?? null,
      });
      // What stands in between has found nobody.
      if (answer.status === 502 || answer.status === 504) reportSilence();
      return answer;
    } catch (error) {
      if (call.signal?.aborted) throw error;
      reportSilence();
      throw new ApiError(0, "NoAnswer", "The service does not answer. Is it running?");
    }
  }

  async json<T>(path: string, call: Call = {}): Promise<T> {
    return readBody(await this.send(path, call));
  }

  /** A nextLink is absolute and may name a public host: only what is behind our root is taken. */
  follow(link: string): string {
    const { pathname, search } = new URL(link, window.location.href);
    const root = new URL(this.root || "/", window.location.href).pathname.replace(/\/$/, "");
    return (pathname.startsWith(root) ? pathname.slice(root.length) : pathname) + search;
  }
}

/** The JSON of an answer, its whole numbers exact. */
export async function readBody<T>(answer: Response): Promise<T> {
  return parseJson(await answer.text()) as T;
}
