import type { ResultView } from "../results/store";

/** What a link to the query view carries. */
export interface Shared {
  text: string;
  /** JSON as written; empty for none. */
  parameters: string;
  view: ResultView;
}

const VIEWS: readonly string[] = ["table", "json", "graph", "plan"];

/** The search part of such a link, with its question mark. */
export function renderLink({ text, parameters, view }: Shared): string {
  const search = new URLSearchParams({ query: text });
  if (parameters.trim() !== "" && parameters.trim() !== "{}") search.set("parameters", parameters);
  if (view !== "table") search.set("view", view);
  return `?${search}`;
}

/** The search part of an address without the query that it carries. */
export function dropQuery(search: string): string {
  const left = new URLSearchParams(search);
  for (const name of ["query", "parameters", "view"]) left.delete(name);
  return left.size === 0 ? "" : `?${left}`;
}

/** What the search part of an address carries; null where it carries no query. */
export function readLink(search: string): Shared | null {
  const read = new URLSearchParams(search);
  const text = read.get("query");
  if (text === null || text.trim() === "") return null;
  const view = read.get("view") ?? "";
  return {
    text,
    parameters: read.get("parameters") ?? "",
    view: VIEWS.includes(view) ? (view as ResultView) : "table",
  };
}
