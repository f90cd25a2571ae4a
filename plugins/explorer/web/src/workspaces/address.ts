const NAME = "workspace";

/** The workspace that the search part of an address names; null for none. */
export function readWorkspaceId(search: string): string | null {
  return new URLSearchParams(search).get(NAME) || null;
}

/** The search part with this workspace, and all else that it says. */
export function renderWorkspaceId(search: string, id: string | null): string {
  const written = new URLSearchParams(search);
  written.delete(NAME);
  if (id !== null) written.set(NAME, id);
  const text = written.toString();
  return text === "" ? "" : `?${text}`;
}

/**
 * Have the address of the page name a workspace. `anew`: as a step that the browser leads back from,
 * without the query and picture that the fragment names, as those are the workspace's now.
 */
export function addressWorkspace(id: string | null, anew = false): void {
  const { pathname, search, hash } = window.location;
  const next = pathname + renderWorkspaceId(search, id);
  if (anew) window.history.pushState(null, "", next);
  else window.history.replaceState(window.history.state, "", next + hash);
}
