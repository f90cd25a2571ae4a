import { routeOf } from "../app/addresses";
import { quoteName } from "../query/names";
import { renderLink } from "../query/share";
import type { Containment } from "./containment";

/** So many parts are drawn around a location. */
const MOST = 200;

/** The route that selects a location, with what is at it as a graph. */
export function linkToLocation(
  graphId: string,
  containment: readonly Containment[],
  id: string,
): string {
  const types = containment.map((one) => quoteName(one.name)).join("|");
  const named = `'${id.replace(/[\\']/g, "\\$&")}'`;
  const text = `MATCH (a)-[r:${types}]-(b)\nWHERE a.$dtId = ${named}\nRETURN a, r, b\nLIMIT ${MOST}`;
  const search = new URLSearchParams({ twin: id }).toString();
  return routeOf(graphId, "query", search) + renderLink({ text, parameters: "", view: "graph" });
}
