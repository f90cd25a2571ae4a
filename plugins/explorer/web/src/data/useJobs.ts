import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";

import { isOver, TransferClient, type DeleteJob, type ImportJob } from "../api/transfer";
import { useSession } from "../session/session";

/** Jobs are read so often while one goes on, and otherwise, in milliseconds. */
const OFTEN = 1000;
const SELDOM = 15_000;

export interface Jobs {
  imports: ImportJob[];
  deletions: DeleteJob[];
}

export function useTransfer(): TransferClient {
  const { graph } = useSession();
  return useMemo(() => new TransferClient(graph.http), [graph]);
}

/** All jobs that one may see, the newest first. What a job has changed is read anew at its end. */
export function useJobs() {
  const { graphId, may } = useSession();
  const client = useTransfer();
  const queries = useQueryClient();
  const seesImports = may("jobs/imports/read");
  const seesDeletions = may("jobs/deletions/read");
  const found = useQuery({
    queryKey: ["jobs", graphId],
    queryFn: async ({ signal }): Promise<Jobs> => {
      const [imports, deletions] = await Promise.all([
        seesImports ? client.listImports(signal) : [],
        seesDeletions ? client.listDeletions(signal) : [],
      ]);
      return { imports: imports.reverse(), deletions: deletions.reverse() };
    },
    enabled: seesImports || seesDeletions,
    refetchInterval: ({ state }) => (countUnfinished(state.data) > 0 ? OFTEN : SELDOM),
    staleTime: 0,
  });
  const unfinished = countUnfinished(found.data);
  const before = useRef(unfinished);
  useEffect(() => {
    if (unfinished < before.current) {
      void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "jobs" });
    }
    before.current = unfinished;
  }, [unfinished, queries]);
  return found;
}

function countUnfinished(jobs: Jobs | undefined): number {
  if (jobs === undefined) return 0;
  return [...jobs.imports, ...jobs.deletions].filter((one) => !isOver(one)).length;
}
