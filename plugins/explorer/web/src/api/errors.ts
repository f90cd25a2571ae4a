import { parseJson } from "./json";
import type { Json } from "./types";

/** An answer that is an error. `status` 0 is no answer at all. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** The `details` of the vendor's envelope, the control plane's `findings`, or the body. */
    readonly details: Json = null,
    readonly requestId: string | null = null,
  ) {
    super(message);
    this.name = "ApiError";
  }

  /** Whether somebody else changed the document meanwhile. */
  get isConflict(): boolean {
    return this.status === 412;
  }
}

/** Statuses that say nothing about what was done: none at all, and those of who stands between. */
const UNKNOWN: ReadonlySet<number> = new Set([0, 502, 504]);

/** Whether it is not known if what failed was done nevertheless. */
export function isUnknown(error: unknown): boolean {
  return error instanceof ApiError && UNKNOWN.has(error.status);
}

/** What became of a change that failed, as the title of the error. */
export function titleOf(error: unknown): string {
  return isUnknown(error)
    ? "No answer: it is not known whether it was done"
    : "The service has not taken it";
}

/** The error that a failed answer carries, whichever of our envelopes it is in. */
export async function readError(response: Response): Promise<ApiError> {
  const text = await response.text();
  const id = response.headers.get("x-request-id");
  let body: Json = null;
  try {
    body = parseJson(text);
  } catch {
    return new ApiError(response.status, "", text || response.statusText, null, id);
  }
  if (body !== null && typeof body === "object" && !Array.isArray(body)) {
    const inner = body["error"];
    if (inner !== null && typeof inner === "object" && !Array.isArray(inner)) {
      const code = typeof inner["code"] === "string" ? inner["code"] : "";
      const message = typeof inner["message"] === "string" ? inner["message"] : text;
      return new ApiError(response.status, code, message, inner["details"] ?? inner, id);
    }
    // SPEC: RFC 6749, 5.2: `error` is a code there, and the description is what people read.
    const told = [body["error_description"], inner, body["detail"], body["title"]];
    const message = String(told.find((one) => typeof one === "string") ?? text);
    const details = body["details"]; // the control plane's: what of it is wrong, in one text
    const more = typeof details === "string" && details !== message ? ` ${details}` : "";
    return new ApiError(response.status, "", message + more, body["findings"] ?? body, id);
  }
  return new ApiError(response.status, "", text, body, id);
}
