import { ApiError } from "./errors";
import { Http, type Call } from "./http";
import type { JsonObject } from "./types";

/** What is answered as of a moment where it is asked so; all else is of the present. */
const READ = [/^\/digitaltwins\/[^/?]+(?:\/(?!history|series)|$|\?)/, /^\/models(?:\/|$|\?)/];
/** These name their own moments, or are of none. */
const TIMELESS = /^\/(?:changes|permissions|workspaces)\b|\/(?:history|series\/[^/?]+)(?:$|\?)/;
const SAYS_MOMENT = /^\s*(?:(?:EXPLAIN|PROFILE)\s+)?AS\s+OF\b/i;

/**
 * The same graph as it was at a moment (ISO 8601): reads and queries are answered from then, and
 * nothing can be written.
 */
export class PastHttp extends Http {
  constructor(
    private readonly present: Http,
    private readonly asOf: string,
  ) {
    super(present.root, () => Promise.resolve(null));
  }

  override send(path: string, call: Call = {}): Promise<Response> {
    const method = call.method ?? "GET";
    if (method === "GET") return this.present.send(this.date(path), call);
    if (method === "POST" && path === "/query" && call.body !== undefined) {
      const body = call.body as JsonObject;
      const dated = SAYS_MOMENT.test(String(body["query"])) ? body : { ...body, asOf: this.asOf };
      return this.present.send(path, { ...call, body: dated });
    }
    return Promise.reject(
      new ApiError(
        0,
        "InThePast",
        "The page shows the graph as it was, and nothing can be changed there. Go back to now first.",
      ),
    );
  }

  private date(path: string): string {
    // The link to a next page has the position of the first one.
    const isDated = /[?&]asOf=/.test(path);
    if (isDated || TIMELESS.test(path) || !READ.some((one) => one.test(path))) return path;
    return `${path}${path.includes("?") ? "&" : "?"}asOf=${encodeURIComponent(this.asOf)}`;
  }
}
