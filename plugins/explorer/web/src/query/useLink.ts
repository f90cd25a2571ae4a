import { useEffect } from "react";
import { useLocation } from "wouter";

import { useFragment, useSearch } from "../app/search";
import { useResults } from "../results/store";
import { dropQuery, readLink } from "./share";
import { useQueries } from "./store";
import { findKind } from "./tokens";

/**
 * Follows a link with a query: it is written into the editor and run, unless it writes to the graph:
 * nobody's link does that. What is written afterwards is no longer what the link says; `useWrite` drops it then.
 */
export function useLink(run: () => void, explain: () => void): void {
  const search = useSearch();
  const fragment = useFragment();
  useEffect(() => {
    const shared = readLink(search, fragment);
    if (shared === null) return;
    const { text, parameters, write } = useQueries.getState();
    const { query, asked, set } = useResults.getState();
    // The address of what is there already, as after a run.
    const there = shared.text === text && shared.parameters.trim() === parameters.trim();
    if (there && (query === text || asked.endsWith(text))) return;
    write({ text: shared.text, parameters: shared.parameters });
    set({ view: shared.view ?? "table", keepsTable: shared.view === "table" });
    if (shared.view === "plan") explain();
    else if (findKind(shared.text) !== "writes") run();
  }, [search, fragment, run, explain]);
}

/**
 * Writes into the editor. The query that it no longer is stays in the address behind, so that the
 * browser leads back to it; the next one that is run takes the place of the address without any.
 */
export function useWrite(): (part: { text?: string; parameters?: string }) => void {
  const search = useSearch();
  const fragment = useFragment();
  const [path, navigate] = useLocation();
  return (part) => {
    useQueries.getState().write(part);
    if (readLink(search, fragment) !== null) navigate(path + dropQuery(search));
  };
}
