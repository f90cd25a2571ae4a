/** What the browser keeps of one graph. SEC: texts of queries, never rows or tokens. */
export function storageKey(base: string, graphId: string, what: string): string {
  return `twinframe.explorer:${base}:${graphId}:${what}`;
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
