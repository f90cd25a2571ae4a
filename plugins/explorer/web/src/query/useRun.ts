import { useCallback } from "react";
import { useLocation } from "wouter";

import { routeOf } from "../app/addresses";
import { useNotices } from "../app/notices";
import { namesPicture } from "../picture/address";
import { useSession } from "../session/session";
import { readWorkspaceId, renderWorkspaceId } from "../workspaces/address";
import { readParameters } from "./parameters";
import { explainQuery, profileQuery, runQuery } from "./run";
import { LONGEST_LINK, nameView, readLink, renderLink } from "./share";
import { useQueries } from "./store";

/** Run, explain or profile what is written; what was run is in the address and in the history. */
export function useRun() {
  const { graph, graphId } = useSession();
  const [, navigate] = useLocation();
  const ask = useCallback(
    async (how: typeof runQuery): Promise<void> => {
      const { text, parameters, remember } = useQueries.getState();
      if (text.trim() === "") return;
      const { value, error } = readParameters(parameters);
      if (value === null) {
        useNotices.getState().sayError(new Error(error));
        return;
      }
      const shown = how === runQuery ? nameView() : "plan";
      const link = renderLink({ text, parameters, view: shown });
      const kept = link.length <= LONGEST_LINK ? link : "";
      const { search, hash } = window.location;
      const here = readLink(search, hash);
      const isHere = here?.text === text && here.parameters.trim() === parameters.trim();
      // A picture that was changed keeps its address, or stays behind, where the browser leads back.
      if (!isHere || !namesPicture()) {
        const space = renderWorkspaceId("", readWorkspaceId(search)).slice(1);
        navigate(routeOf(graphId, "query", space) + kept, { replace: !namesPicture() });
      }
      const outcome = await how({ graph, graphId, text, parameters: value });
      if (outcome !== null && how === runQuery) remember(text, parameters, outcome);
    },
    [graph, graphId, navigate],
  );
  const run = useCallback(() => void ask(runQuery), [ask]);
  const explain = useCallback(() => void ask(explainQuery), [ask]);
  const profile = useCallback(() => void ask(profileQuery), [ask]);
  return { run, explain, profile };
}
