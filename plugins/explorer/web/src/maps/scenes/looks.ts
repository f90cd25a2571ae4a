import type { DrawnTwin } from "../useDrawn";
import type { Bound, SceneParts } from "./parts";
import type { Look } from "./ScenePainter";

/** How what has no twin is drawn. */
export type Rest = Look["sight"];

/** The nodes of a part, or of what is bound to a twin, with those in them. */
export function listNodes(
  { chains }: SceneParts,
  bound: ReadonlyMap<string, Bound>,
  of: { part: string | null } | { twin: string | null },
): ReadonlySet<number> {
  const isOf = (name: string): boolean => {
    if ("part" in of) return name === of.part;
    return of.twin !== null && bound.get(name)?.twin === of.twin;
  };
  return new Set([...chains].filter(([, chain]) => chain.some(isOf)).map(([node]) => node));
}

interface Drawing {
  scene: SceneParts;
  bound: ReadonlyMap<string, Bound>;
  drawn: ReadonlyMap<string, DrawnTwin>;
  lit: ReadonlySet<string>;
  selected: ReadonlySet<number>;
  rest: Rest;
  /** Whether all but what is selected is seen through, once something is. */
  isAlone: boolean;
}

/** How each node is drawn: by the twin of the innermost part that has one. */
export function buildLooks(drawing: Drawing): ReadonlyMap<number, Look> {
  const { scene, bound, drawn, lit, selected, rest } = drawing;
  const isAlone = drawing.isAlone && selected.size > 0;
  const looks = new Map<number, Look>();
  for (const [node, chain] of scene.chains) {
    const twins = chain.flatMap((name) => bound.get(name)?.twin ?? []);
    const twin = twins[0] === undefined ? undefined : drawn.get(twins[0]);
    const isSelected = selected.has(node);
    const isRest = twin === undefined || twin.isGone;
    looks.set(node, {
      color: isRest ? null : twin.color,
      state: twins.some((id) => lit.has(id)) ? "lit" : isSelected ? "selected" : "plain",
      sight: isSelected ? "solid" : isRest ? rest : isAlone ? "through" : "solid",
    });
  }
  return looks;
}
