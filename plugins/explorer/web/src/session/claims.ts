import type { Json, JsonObject } from "../api/types";

/** The claims of a JWT, unchecked: for display alone. Null where the token is not one. */
export function parseClaims(token: string): JsonObject | null {
  const payload = token.split(".")[1];
  if (payload === undefined) return null;
  try {
    const bytes = Uint8Array.from(atob(payload.replace(/-/g, "+").replace(/_/g, "/")), (one) =>
      one.charCodeAt(0),
    );
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as Json;
    return claims !== null && typeof claims === "object" && !Array.isArray(claims) ? claims : null;
  } catch {
    return null;
  }
}

/** What somebody is called, from the claims that say it best; null where none does. */
export function nameOf(claims: Record<string, unknown> | null): string | null {
  for (const claim of ["name", "preferred_username", "email", "sub", "client_id"]) {
    const value = claims?.[claim];
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
}

/** When a JWT ends, in milliseconds since 1970; null where it does not say. */
export function expiryOf(claims: JsonObject | null): number | null {
  const exp = claims?.["exp"];
  return typeof exp === "number" ? exp * 1000 : null;
}

/** A token as it was pasted, without the scheme and the blanks that often come along. */
export function parsePasted(text: string): string {
  return text.replace(/^\s*(authorization:)?\s*(bearer\s)?/i, "").replace(/\s+/g, "");
}
