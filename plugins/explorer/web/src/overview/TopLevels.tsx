import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "react-aria-components";

import { showText } from "../app/showText";
import { isToldTwice } from "../locations/containment";
import { linkToLocation } from "../locations/links";
import { readParts, type Level, type Located } from "../locations/read";
import { useContainment } from "../locations/useContainment";
import type { ModelIndex } from "../models/index";
import { ModelIcon } from "../picture/icons";
import { useSession } from "../session/session";
import { Card } from "./OverviewView";

/** So many boxes are drawn, and so many in each. */
const MOST_WHOLES = 12;
const MOST_PARTS = 12;
const NOWHERE: Located = { id: "", name: "", model: "", below: 0 };

/** The top of what contains what: boxes in boxes. One box alone gives way to what is in it. */
export function TopLevels({ top, index }: { top: Level | null; index: ModelIndex }) {
  const { graph, graphId } = useSession();
  const { containment } = useContainment();
  const ask = (one: Located) => ({
    queryKey: ["locations", graphId, "parts", containment, one.id, MOST_PARTS],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      readParts(graph, containment, one.id, MOST_PARTS, signal),
  });
  const rows = top?.rows ?? [];
  const [only] = rows;
  const isOne = rows.length === 1 && only !== undefined;
  const first = useQuery({ ...ask(only ?? NOWHERE), enabled: isOne });
  const wholes = (isOne ? (first.data?.rows ?? []) : rows).slice(0, MOST_WHOLES);
  const read = useQueries({ queries: wholes.map(ask) });
  if (rows.length === 0) return null;
  const isExact = !isToldTwice(containment);
  const total = isOne ? only.below : rows.length;
  return (
    <Card title="Where things are" wide>
      {isOne && (
        <p>
          <Named of={only} index={index} />
        </p>
      )}
      <ul className="overview-boxes">
        {wholes.map((one, at) => (
          <li key={one.id} className="overview-box">
            <Named of={one} index={index} />
            <ul>
              {(read[at]?.data?.rows ?? []).map((part) => (
                <li key={part.id}>
                  <Named of={part} index={index} isExact={isExact} />
                </li>
              ))}
              {read[at]?.data?.more === true && <li className="muted">and more</li>}
            </ul>
          </li>
        ))}
      </ul>
      {(total > wholes.length && wholes.length === MOST_WHOLES) || top?.more === true ? (
        <p className="muted">The first {wholes.length} are drawn; the tree of locations has all.</p>
      ) : null}
    </Card>
  );
}

/** A location by its name, which leads to it. */
function Named({
  of,
  index,
  isExact = false,
}: {
  of: Located;
  index: ModelIndex;
  isExact?: boolean;
}) {
  const { graphId } = useSession();
  const { containment } = useContainment();
  return (
    <Link
      className="overview-location"
      href={linkToLocation(graphId, containment, of.id)}
      aria-label={of.name}
    >
      <span style={{ color: index.color(of.model) }} className="overview-icon">
        <ModelIcon name={index.icon(of.model)} />
      </span>
      {showText(of.name)}
      {isExact && of.below > 0 && (
        <span className="muted overview-number" title={`${of.below} parts`}>
          {of.below.toLocaleString()}
        </span>
      )}
    </Link>
  );
}
