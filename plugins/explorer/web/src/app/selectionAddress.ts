import { useEffect, useLayoutEffect, useRef } from "react";

import { isSame } from "../api/json";
import { useSearch } from "./search";
import { useSelection, type Selected } from "./selection";

const PARTS = ["twin", "relationship", "model"] as const;

/** What the search part of an address says is selected. */
export function readSelected(search: string): Selected | null {
  const read = new URLSearchParams(search);
  const [twin, id, model] = PARTS.map((name) => read.get(name) ?? "");
  if (twin && id) return { kind: "relationship", sourceId: twin, id };
  if (twin) return { kind: "twin", id: twin };
  return model ? { kind: "model", id: model } : null;
}

/** The search part with this selected, and all else that it says. */
export function renderSelected(search: string, selected: Selected | null): string {
  const written = new URLSearchParams(search);
  for (const name of PARTS) written.delete(name);
  if (selected?.kind === "relationship") {
    written.set("twin", selected.sourceId);
    written.set("relationship", selected.id);
  } else if (selected !== null) written.set(selected.kind, selected.id);
  const text = written.toString();
  return text === "" ? "" : `?${text}`;
}

const followers = new Set<() => void>();
// NOTE: from the beginning, so that the selection is right before the router hears of it and draws
// the page: who listens first is told first.
globalThis.window?.addEventListener("popstate", () => {
  for (const follow of followers) follow();
});

/**
 * Keeps what is selected in the address, while a view is shown whose things are: a link and a
 * reload show it again, and the browser leads back to what was selected before.
 */
export function useSelectionAddress(active: boolean): void {
  const search = useSearch();
  const selected = useSelection((state) => state.selected);
  const before = useRef(selected);
  // NOTE: before the effects of the view, which may run the query that the address names and then
  // writes it anew.
  useLayoutEffect(() => {
    if (!active) return;
    const follow = (): void => {
      const named = readSelected(window.location.search);
      const { selected: now, select } = useSelection.getState();
      if (!isSame(named, now)) select(named);
    };
    // Where an address names nothing, what is selected stays so; but not on the way back.
    if (readSelected(window.location.search) !== null) follow();
    before.current = useSelection.getState().selected;
    followers.add(follow);
    return () => void followers.delete(follow);
  }, [active]);
  useEffect(() => {
    if (!active) return;
    // NOTE: not those of the render, which are older than what was followed just now.
    const { selected: now } = useSelection.getState();
    const { pathname, search: there, hash } = window.location;
    const isNew = now !== before.current;
    before.current = now;
    if (isSame(readSelected(there), now)) return;
    const address = pathname + renderSelected(there, now) + hash;
    // A query that is run takes it out of the address, where it is put again.
    if (isNew && now !== null) window.history.pushState(null, "", address);
    else window.history.replaceState(window.history.state, "", address);
  }, [active, search, selected]);
}
