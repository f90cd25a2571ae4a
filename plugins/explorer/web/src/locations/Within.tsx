import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-aria-components";

import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { useModels } from "../models/useModels";
import { ModelIcon } from "../picture/icons";
import { useSession } from "../session/session";
import { linkToWithin } from "./links";
import "./locations.css";
import { hasParts, readWithin } from "./read";
import { useContainment } from "./useContainment";

/** What is in a location, on all levels below it: how many of each model, which lead to them. */
export function Within({ id }: { id: string }) {
  const { graph, graphId, may } = useSession();
  const { containment } = useContainment();
  const [isOpen, setOpen] = useState(false);
  const { data: isWhole } = useQuery({
    queryKey: ["locations", graphId, "whole", containment, id],
    queryFn: ({ signal }) => hasParts(graph, containment, id, signal),
    enabled: containment.length > 0 && may("query/read"),
  });
  if (isWhole !== true) return null;
  return (
    <details className="locations-within" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What is in it</summary>
      {isOpen && <Counts id={id} />}
    </details>
  );
}

function Counts({ id }: { id: string }) {
  const { graph, graphId } = useSession();
  const { index } = useModels();
  const { containment } = useContainment();
  const { data, error, refetch } = useQuery({
    queryKey: ["locations", graphId, "within", containment, id],
    queryFn: ({ signal }) => readWithin(graph, containment, id, signal),
  });
  if (error !== null) {
    const title = "What is in it cannot be counted";
    return <Failure title={title} error={error} onRetry={() => void refetch()} />;
  }
  if (data === undefined) return <Waiting />;
  return (
    <ul>
      {data.map(({ model, twins }) => (
        <li key={model}>
          <Link className="inspector-link" href={linkToWithin(graphId, containment, id, model)}>
            <span className="locations-icon" style={{ color: index.color(model) }}>
              <ModelIcon name={index.icon(model)} />
            </span>
            {index.label(model)} <span className="muted">{twins.toLocaleString()}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
