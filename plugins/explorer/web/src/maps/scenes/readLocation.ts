import type { GraphClient } from "../../api/graph";
import type { Containment } from "../../locations/containment";
import { readParts } from "../../locations/read";
import { nameOf } from "../../models/index";
import type { Location } from "./boxes";

/** So many boxes are made. */
const MOST_BOXES = 3000;
/** So many parts are read of one whole. */
const MOST_PARTS = 500;
/** Below this many wholes nothing is opened, where there are no levels. */
const DEEPEST = 3;
const LEVEL = /level|floor|storey|story/i;

/**
 * A location and what is in it, down to the parts of levels, such as rooms; what is in these, such
 * as sensors, has no box. Throws where there is no such location, or where it has too many parts.
 */
export async function readLocation(
  graph: GraphClient,
  containment: readonly Containment[],
  id: string,
): Promise<Location> {
  let count = 0;
  const read = async (one: string, isLevel: boolean, depth: number): Promise<Location> => {
    const { rows, more } = await readParts(graph, containment, one, MOST_PARTS);
    count += rows.length;
    if (more || count > MOST_BOXES) {
      throw new Error(
        `${id} has more parts than the ${MOST_BOXES.toLocaleString()} that boxes are made of, or ` +
          `one in it more than ${MOST_PARTS}. Choose a smaller location, such as a building.`,
      );
    }
    const isDeepest = isLevel || depth + 1 >= DEEPEST;
    const parts = await Promise.all(
      rows.map(({ id: part, model, below }): Location | Promise<Location> => {
        const isPartLevel = LEVEL.test(nameOf(model));
        if (isDeepest || below === 0) return { id: part, isLevel: isPartLevel, parts: [] };
        return read(part, isPartLevel, depth + 1);
      }),
    );
    return { id: one, isLevel, parts };
  };
  const { value } = await graph.query("MATCH (t {$dtId: $id}) RETURN t.$dtId AS id, t.`$metadata`.`$model` AS model", { parameters: { id } }); // prettier-ignore
  const [top] = value;
  if (top === undefined) throw new Error(`There is no twin ${id} that boxes could be made of.`);
  return read(id, LEVEL.test(nameOf(String(top["model"]))), 0);
}
