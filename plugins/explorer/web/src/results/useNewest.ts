import { useEffect } from "react";

import { useNotices } from "../app/notices";
import { listenToChanges } from "../live/LiveConnection";
import { readTwins } from "../picture/ask";
import { usePicture } from "../picture/store";
import { useSession } from "../session/session";
import { findTwins, takeNewest } from "./newest";
import { useResults } from "./store";

/** PERF: however many changes there are, the rows are made anew once in so many milliseconds. */
const EVERY = 500;

/** Keeps twins in the rows at their newest state. Rows stay where they are, and so does their number. */
export function useNewest(): void {
  const { graph, graphId } = useSession();
  useEffect(() => {
    const stale = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stopping = new AbortController();

    const refresh = async (): Promise<void> => {
      const ids = [...stale];
      stale.clear();
      const twins = await readTwins(graph, ids, stopping.signal);
      const { rows, graphId: asked, set } = useResults.getState();
      if (asked !== graphId) return;
      const after = takeNewest(rows, twins);
      if (after === rows) return;
      // The picture follows the changes by itself; to it these are the rows that it has.
      const picture = usePicture.getState();
      if (picture.rows === rows) picture.takeRows(after);
      set({ rows: after });
    };
    const stop = listenToChanges((changes) => {
      const { rows, graphId: asked } = useResults.getState();
      if (rows.length === 0 || asked !== graphId) return;
      const where = findTwins(rows);
      for (const one of changes) {
        if (one.kind === "twin" && one.verb === "update" && where.has(one.id)) stale.add(one.id);
      }
      if (stale.size === 0) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        refresh().catch((error: unknown) => useNotices.getState().sayError(error));
      }, EVERY);
    });
    return () => {
      stop();
      clearTimeout(timer);
      stopping.abort();
    };
  }, [graph, graphId]);
}
