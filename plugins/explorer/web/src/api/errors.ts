import { parseJson } from "./json";
import type { Json } from "./types";

/** An answer that is an error. `status` 0 is no answer at all. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** The `details` of the vendor's envelope, or the body as it came. */
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
    const message = [inner, body["detail"], body["title"]].find((one) => typeof one === "string");
    return new ApiError(response.status, "", String(message ?? text), body["details"] ?? body, id);
  }
  return new ApiError(response.status, "", text, body, id);
}
