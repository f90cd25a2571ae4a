import { useResults, type ResultView } from "../results/store";

/** What a link to the query view carries. */
export interface Shared {
  text: string;
  /** JSON as written; empty for none. */
  parameters: string;
  /** Null leaves it to the result. */
  view: ResultView | null;
}

const VIEWS: readonly string[] = ["table", "json", "graph", "plan"];
const NAMES = ["query", "parameters", "view"] as const;

/**
 * How many characters of a link are made. It goes to no server, but what it is pasted into may cut
 * what is longer.
 */
export const LONGEST_LINK = 30_000;

/**
 * The fragment of such a link, with its `#`. NOTE: not the search part: that is sent to the service
 * and to what stands before it, which refuse line ends and long addresses, and write them in logs.
 */
export function renderLink({ text, parameters, view }: Shared): string {
  const written = new URLSearchParams({ query: text });
  if (parameters.trim() !== "" && parameters.trim() !== "{}") written.set("parameters", parameters);
  if (view !== null) written.set("view", view);
  return `#${written}`;
}

/** The search part of an address without the query that it carries, as links of before have it. */
export function dropQuery(search: string): string {
  const left = new URLSearchParams(search);
  for (const name of NAMES) left.delete(name);
  return left.size === 0 ? "" : `?${left}`;
}

/** The view of a result as a link to it names it; null where the result says it by itself. */
export function nameView(): ResultView | null {
  const { view, keepsTable } = useResults.getState();
  return view === "plan" || (view === "table" && !keepsTable) ? null : view;
}

/** What the fragment of an address carries, or its search part; null where neither has a query. */
export function readLink(search: string, fragment: string): Shared | null {
  return readPart(fragment.slice(1)) ?? readPart(search);
}

function readPart(written: string): Shared | null {
  const read = new URLSearchParams(written);
  const [text, parameters, view] = NAMES.map((name) => read.get(name) ?? "") as [
    string,
    string,
    string,
  ];
  if (text.trim() === "") return null;
  return { text, parameters, view: VIEWS.includes(view) ? (view as ResultView) : null };
}
