import { useEffect, useLayoutEffect } from "react";

import { useSearch } from "../app/search";
import { readMoment, renderMoment, useMoment } from "./moment";

/** Keeps the moment that is shown in the address: a link, a reload and the way back show it again. */
export function useMomentAddress(): void {
  const search = useSearch();
  const asOf = useMoment((state) => state.asOf);
  const since = useMoment((state) => state.since);
  useLayoutEffect(() => {
    const follow = (): void => useMoment.setState(readMoment(window.location.search));
    window.addEventListener("popstate", follow);
    return () => window.removeEventListener("popstate", follow);
  }, []);
  useEffect(() => {
    const { pathname, search: there, hash } = window.location;
    const written = renderMoment(there, { asOf, since });
    // A view that is opened by its name alone is of the same moment.
    if (written === there || (there === "?" && written === "")) return;
    const named = readMoment(there);
    if (named.asOf === asOf && named.since === since) return;
    window.history.replaceState(window.history.state, "", pathname + written + hash);
  }, [search, asOf, since]);
}
