/** Whose queries, of which graph of which service. */
export interface Keeper {
  /** Where the service stands, such as `` or `/api`. */
  base: string;
  graphId: string;
  /** Who is signed in; null where nobody is. */
  subject: string | null;
}

/**
 * What the browser keeps is kept by this. SEC: texts of queries, never rows or tokens; and for whom
 * wrote them, since others may sign in at the same browser.
 */
export function storageKey({ base, graphId, subject }: Keeper, what: string): string {
  const whose = subject === null ? "" : `@${encodeURIComponent(subject)}`;
  return `twinframe.explorer${whose}:${base}:${graphId}:${what}`;
}

/** A value that was kept; null where there is none that can be read. */
export function readStored(key: string, storage: Storage = localStorage): unknown {
  try {
    const text = storage.getItem(key);
    return text === null ? null : (JSON.parse(text) as unknown);
  } catch (error) {
    // A browser may refuse storage altogether, and anybody may have written anything there.
    if (error instanceof SyntaxError || error instanceof DOMException) return null;
    throw error;
  }
}

/** Keeps a value; false where the browser has no room or refuses. */
export function writeStored(key: string, value: unknown, storage: Storage = localStorage): boolean {
  try {
    storage.setItem(key, JSON.stringify(value));
    return true;
  } catch (error) {
    if (error instanceof DOMException) return false;
    throw error;
  }
}
