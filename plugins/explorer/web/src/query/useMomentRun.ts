import { useEffect, useRef } from "react";

import { useResults } from "../results/store";
import { useSession } from "../session/session";
import { runQuery } from "./run";

/** Runs the query of the result again when another moment is shown, as of which its rows are then. */
export function useMomentRun(): void {
  const { graph, graphId, asOf } = useSession();
  const before = useRef(asOf);
  useEffect(() => {
    if (before.current === asOf) return;
    before.current = asOf;
    const { query, parameters, statistics } = useResults.getState();
    // What has written is not run again by a move in time.
    if (query === "" || statistics !== null) return;
    void runQuery({ graph, graphId, text: query, parameters });
  }, [graph, graphId, asOf]);
}
