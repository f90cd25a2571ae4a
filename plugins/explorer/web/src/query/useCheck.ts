import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { ApiError } from "../api/errors";
import { renderJson } from "../api/json";
import type { JsonObject } from "../api/types";
import { useSession } from "../session/session";
import type { Finding } from "./diagnostics";
import { askForPlan, findKind } from "./tokens";

const PAUSE_MILLISECONDS = 450;

export interface Check {
  state: "none" | "checking" | "right" | "wrong" | "unchecked";
  /** What was found, of the very text that stands there now. */
  finding: Finding | null;
  /** Why it was not checked. */
  error: unknown;
}

/**
 * Has the service read a text while it is written, by asking for its plan, which runs nothing.
 * A text that changes meanwhile ends the call before it; `parameters` null and a run hold it back.
 */
export function useCheck(text: string, parameters: JsonObject | null, running: boolean): Check {
  const { graph, graphId } = useSession();
  const settled = useSettled(text);
  const enabled = settled.trim() !== "" && parameters !== null && !running;
  const { data, error, isFetching } = useQuery({
    // NOTE: keys of queries hold no bigint.
    queryKey: ["check", graphId, settled, parameters && renderJson(parameters)],
    queryFn: async ({ signal }): Promise<Finding> => {
      const sent = askForPlan(settled, "EXPLAIN");
      const prefix = sent.length - settled.length;
      try {
        const options = { parameters: parameters ?? {}, signal };
        const page = await (findKind(settled) === "reads"
          ? graph.query(sent, options)
          : graph.runStatement(sent, options));
        return { text: sent, prefix, error: null, warnings: page.warnings };
      } catch (refused) {
        if (!(refused instanceof ApiError) || refused.code !== "SqlQueryError") throw refused;
        return { text: sent, prefix, error: refused, warnings: [] };
      }
    },
    enabled,
    retry: false,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  if (text.trim() === "" || parameters === null)
    return { state: "none", finding: null, error: null };
  if (settled !== text || isFetching) return { state: "checking", finding: null, error: null };
  if (data === undefined)
    return { state: error === null ? "none" : "unchecked", finding: null, error };
  return { state: data.error === null ? "right" : "wrong", finding: data, error: null };
}

/** A text once it has not changed for a while. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
