import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "react-aria-components";

import { routeOf } from "../app/addresses";
import { Failure } from "../app/Failure";
import { renderSelected } from "../app/selectionAddress";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { Moment } from "../inspector/Moment";
import { useLive } from "../live/store";
import { useSession } from "../session/session";
import { readRecent, type RecentChange } from "./recent";

/** Changes that follow each other are read together, in milliseconds. */
const PAUSE = 1500;

/** What changed last, and who did it; read anew while the graph changes. */
export function RecentChanges() {
  const { graph, graphId, may } = useSession();
  const client = useQueryClient();
  const isAllowed = may("digitaltwins/read") && may("digitaltwins/relationships/read");
  const { data, error, isLoading } = useQuery({
    queryKey: ["overview", graphId, "recent"],
    queryFn: ({ signal }) => readRecent(graph, signal),
    enabled: isAllowed,
    staleTime: 0,
  });
  const lit = useLive((state) => state.lit);
  useEffect(() => {
    if (lit.size === 0) return;
    const timer = setTimeout(() => {
      void client.invalidateQueries({ queryKey: ["overview", graphId, "recent"] });
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [lit, client, graphId]);
  if (!isAllowed) return <p className="muted">You may not read the changes of this graph.</p>;
  if (isLoading) return <Waiting label="Reading the history" />;
  if (error !== null) return <Failure title="The changes cannot be read" error={error} />;
  if (data === undefined || data === null) {
    return <p className="muted">This graph keeps no history.</p>;
  }
  if (data.length === 0) return <p className="muted">Nothing has changed lately.</p>;
  return (
    <ul className="overview-changes">
      {data.map((one) => (
        <li key={`${one.position} ${one.of.id}`}>
          <Link
            href={routeOf(graphId, "query", renderSelected("", one.of).slice(1))}
            aria-label={`${one.name} ${one.action}`}
          >
            {showText(one.name)}
          </Link>{" "}
          <span className="overview-what">{showText(tellWhat(one))}</span>
          <span className="muted overview-when">
            <Moment title="Changed" value={one.time} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function tellWhat({ action, values, who }: RecentChange): string {
  const [first, ...others] = action === "updated" ? values : [];
  const what = first === undefined ? "" : `: ${first.path}`;
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return `${action}${what}${more}${who === null ? "" : ` by ${who}`}`;
}
