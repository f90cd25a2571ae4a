import { routeOf } from "../app/addresses";
import { quoteName, quoteText } from "../query/names";
import { renderLink } from "../query/share";
import type { Containment } from "./containment";
import { renderWithin } from "./read";

/** So many parts are drawn around a location. */
const MOST = 200;

/** The route that selects a location, with what is at it as a graph. */
export function linkToLocation(
  graphId: string,
  containment: readonly Containment[],
  id: string,
): string {
  const types = containment.map((one) => quoteName(one.name)).join("|");
  const where = `WHERE a.$dtId = ${quoteText(id)}`;
  const text = `MATCH (a)-[r:${types}]-(b)\n${where}\nRETURN a, r, b\nLIMIT ${MOST}`;
  return linkTo(graphId, id, text, "graph");
}

/** The route that selects a location, with all twins of a model that are in it as a table. */
export function linkToWithin(
  graphId: string,
  containment: readonly Containment[],
  id: string,
  model: string,
): string {
  const text = [
    `MATCH ${renderWithin(containment, "n")}`,
    `WHERE whole.$dtId = ${quoteText(id)} AND n.$dtId <> ${quoteText(id)}`,
    `AND n.$metadata.$model = ${quoteText(model)}`,
    "RETURN DISTINCT n",
  ];
  return linkTo(graphId, id, text.join("\n"), "table");
}

function linkTo(graphId: string, id: string, text: string, view: "graph" | "table"): string {
  const search = new URLSearchParams({ twin: id }).toString();
  return routeOf(graphId, "query", search) + renderLink({ text, parameters: "", view });
}
