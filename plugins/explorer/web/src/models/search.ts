import type { ModelIndex } from "./index";

/** The models that a text is found in (name, DTMI, names of own contents); null for an empty text. */
export function searchModels(index: ModelIndex, text: string): Set<string> | null {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return null;
  const found = new Set<string>();
  for (const one of index.interfaces.values()) {
    const texts = [one.displayName, one.id, ...one.own.map((content) => content.name)];
    if (texts.some((each) => each.toLowerCase().includes(wanted))) found.add(one.id);
  }
  return found;
}

/** These and all that they extend: what a tree shows so that each can be reached. */
export function withAncestors(index: ModelIndex, found: ReadonlySet<string>): Set<string> {
  const shown = new Set(found);
  for (const id of found) for (const base of index.ancestors(id)) shown.add(base);
  return shown;
}
