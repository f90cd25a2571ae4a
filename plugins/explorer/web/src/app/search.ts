import { useCallback, useMemo } from "react";
import { useLocation } from "wouter";
// NOTE: that of "wouter" itself decodes the search part before its parameters are parsed, which
// decodes them again: `%2525` would be read as `%`.
import { useLocationProperty, useSearch } from "wouter/use-browser-location";

type Navigation = { replace?: boolean };

/** The search part of the address as it stands there, and again whenever it changes. */
export { useSearch };

/** The fragment of the address, with its `#`, and again whenever it changes; empty without one. */
export function useFragment(): string {
  return useLocationProperty(() => window.location.hash);
}

/** What the search part of the address says, each decoded once, and a way to have it say else. */
export function useParameters(): [
  URLSearchParams,
  (parameters: Record<string, string>, how?: Navigation) => void,
] {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const read = useMemo(() => new URLSearchParams(search), [search]);
  const write = useCallback(
    (parameters: Record<string, string>, how: Navigation = {}): void =>
      navigate(`${path}?${new URLSearchParams(parameters).toString()}`, how),
    [path, navigate],
  );
  return [read, write];
}
