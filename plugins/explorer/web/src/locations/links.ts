import { routeOf } from "../app/addresses";
import { quoteName } from "../query/names";
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
  const where = `WHERE a.$dtId = ${renderText(id)}`;
  const text = `MATCH (a)-[r:${types}]-(b)\n${where}\nRETURN a, r, b\nLIMIT ${MOST}`;
  return linkTo(graphId, id, text, "graph");
}

/** The route that selects a location, with all twins of a label that are in it as a table. */
export function linkToWithin(
  graphId: string,
  containment: readonly Containment[],
  id: string,
  label: string,
): string {
  const match = `MATCH ${renderWithin(containment, `n:${quoteName(label)}`)}`;
  const text = `${match}\nWHERE whole.$dtId = ${renderText(id)}\nRETURN DISTINCT n`;
  return linkTo(graphId, id, text, "table");
}

function renderText(value: string): string {
  return `'${value.replace(/[\\']/g, "\\$&")}'`;
}

function linkTo(graphId: string, id: string, text: string, view: "graph" | "table"): string {
  const search = new URLSearchParams({ twin: id }).toString();
  return routeOf(graphId, "query", search) + renderLink({ text, parameters: "", view });
}
