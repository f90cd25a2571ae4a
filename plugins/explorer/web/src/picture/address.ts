/** How a picture differs from the rows that it was made of: twins that came in and that were taken out. */
export interface Differences {
  added: readonly string[];
  removed: readonly string[];
}

const [ADDED, REMOVED] = ["with", "without"] as const;

/** Longer lists are not kept in an address: what it is pasted into may cut it. */
export const LONGEST_LIST = 8000;

/** The fragment with these differences; `isKept`: false where they are too long, and left out. */
export function renderDifferences(
  fragment: string,
  { added, removed }: Differences,
): { fragment: string; isKept: boolean } {
  const written = new URLSearchParams(fragment.slice(1));
  const before = written.toString();
  for (const name of [ADDED, REMOVED]) written.delete(name);
  const plain = written.toString();
  for (const id of added) written.append(ADDED, id);
  for (const id of removed) written.append(REMOVED, id);
  const some = added.length + removed.length > 0;
  if (some) written.set("view", "graph");
  const text = written.toString();
  const isKept = text.length - plain.length <= LONGEST_LIST;
  const next = isKept ? text : plain;
  // What stays is left as it was written.
  return { fragment: next === before ? fragment : `#${next}`, isKept };
}

/** What a fragment says of them. */
export function readDifferences(fragment: string): Differences {
  const read = new URLSearchParams(fragment.slice(1));
  return { added: read.getAll(ADDED), removed: read.getAll(REMOVED) };
}

/** Whether the address of the page names a picture that was changed. */
export function namesPicture(): boolean {
  const { added, removed } = readDifferences(window.location.hash);
  return added.length + removed.length > 0;
}
