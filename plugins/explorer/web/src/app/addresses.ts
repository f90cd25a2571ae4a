/**
 * Where the page stands. The server writes `<base href>` with the address of the explorer; without
 * it (`npm run dev`) the explorer stands at `/explorer/`.
 */
export function readBase(): URL {
  const written = document.querySelector("base")?.getAttribute("href");
  return new URL(written ?? "/explorer/", window.location.origin);
}

/** The path that all routes of the page begin with, without a slash at its end. */
export const ROUTES_BASE = readBase().pathname.replace(/\/$/, "");

/** An address beside the page, such as `configuration.json`. */
export function besidePage(name: string): string {
  return new URL(name, readBase()).href;
}

/**
 * What stands in addresses for the graph of the service itself. No hosted graph has this id: ids
 * are made of lower-case letters, digits and hyphens.
 */
export const OWN_GRAPH = "~own";
/** What stood there before; it may be the id of a hosted graph as well. */
export const FORMER_OWN = "own";

/** The view that stands for a graph where an address names none. */
export const START = "overview";

/** The route of a view of a graph, relative to `ROUTES_BASE`. */
export function routeOf(graphId: string, view: string, search = ""): string {
  return `/${encodeURIComponent(graphId)}/${view}${search ? `?${search}` : ""}`;
}
