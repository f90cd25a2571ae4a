/**
 * What a link says of who stands above whom: `down` and `up` that one end contains the other, `flow`
 * that the source comes first, `side` nothing, as long as others say it.
 */
export type Order = "down" | "up" | "flow" | "side";

/** The names of relationships between neighbours, which lead from either to the other. */
const SIDEWAYS = /^(is)?(adjacent|next|neighbou?r|intersects|borders|near)/i;

/** Whether relationships of this name lead to and fro among neighbours. */
export function isSideways(name: string): boolean {
  return SIDEWAYS.test(name);
}

export interface OrderedLink {
  source: string;
  target: string;
  /** Without one it is a flow. */
  order?: Order;
}

export interface Tie {
  upper: string;
  lower: string;
  contains: boolean;
}

/** Who is to stand above whom, as links say it; they may contradict each other. */
function listTies(links: readonly OrderedLink[]): Tie[] {
  const ties: Tie[] = [];
  const aside: Tie[] = [];
  for (const { source, target, order = "flow" } of links) {
    if (source === target) continue;
    const [upper, lower] = order === "up" ? [target, source] : [source, target];
    const contains = order === "up" || order === "down";
    (order === "side" ? aside : ties).push({ upper, lower, contains });
  }
  const tied = new Set(ties.flatMap(({ upper, lower }) => [upper, lower]));
  return [...ties, ...aside.filter(({ upper, lower }) => !tied.has(upper) || !tied.has(lower))];
}

/**
 * All nodes in an order in which ties lead onwards. Where they lead in circles some lead back: those
 * that contain something only where they make a circle themselves.
 */
function sortFromTop(
  nodes: readonly string[],
  below: ReadonlyMap<string, readonly Tie[]>,
): string[] {
  /** How many ties to a node come from what is not placed yet: all, and those that contain it. */
  const open = new Map(nodes.map((id) => [id, 0]));
  const held = new Map(open);
  const count = (counts: Map<string, number>, id: string, by: number): number => {
    const now = (counts.get(id) ?? 0) + by;
    counts.set(id, now);
    return now;
  };
  for (const { lower, contains } of [...below.values()].flat()) {
    count(open, lower, 1);
    if (contains) count(held, lower, 1);
  }
  const placed = new Set<string>();
  const ready = nodes.filter((id) => open.get(id) === 0);
  const reached: string[] = [];
  const place = (id: string): void => {
    placed.add(id);
    for (const { lower, contains } of below.get(id) ?? []) {
      if (contains) count(held, lower, -1);
      if (count(open, lower, -1) === 0) ready.push(lower);
      reached.push(lower);
    }
  };
  let [nextReady, nextReached] = [0, 0];
  while (placed.size < nodes.length) {
    for (; nextReady < ready.length; nextReady++) {
      const id = ready[nextReady];
      if (id !== undefined && !placed.has(id)) place(id);
    }
    // What is left leads in circles: on from where they were come to, else where the least leads to.
    let next: string | undefined;
    for (; next === undefined && nextReached < reached.length; nextReached++) {
      const id = reached[nextReached];
      if (id !== undefined && !placed.has(id) && held.get(id) === 0) next = id;
    }
    next ??= findFirst(nodes, placed, open, held);
    if (next !== undefined) place(next);
  }
  return [...placed];
}

function findFirst(
  nodes: readonly string[],
  placed: ReadonlySet<string>,
  open: ReadonlyMap<string, number>,
  held: ReadonlyMap<string, number>,
): string | undefined {
  let best: string | undefined;
  const rank = (id: string): number => (held.get(id) ?? 0) * nodes.length + (open.get(id) ?? 0);
  for (const id of nodes) {
    if (!placed.has(id) && (best === undefined || rank(id) < rank(best))) best = id;
  }
  return best;
}

export interface Layers {
  /** From 0 at the top. */
  of: ReadonlyMap<string, number>;
  /** For each node below the top one in the layer right above it that leads to it. */
  parents: ReadonlyMap<string, string>;
  /** For each node that is contained what contains it. */
  wholes: ReadonlyMap<string, string>;
}

/** The layer of each node: by the longest way from the top along ties that lead onwards. */
export function findLayers(nodes: readonly string[], links: readonly OrderedLink[]): Layers {
  const known = new Set(nodes);
  const below = new Map<string, Tie[]>();
  for (const tie of listTies(links)) {
    if (!known.has(tie.upper) || !known.has(tie.lower)) continue;
    const same = below.get(tie.upper);
    if (same === undefined) below.set(tie.upper, [tie]);
    else same.push(tie);
  }
  const order = sortFromTop(nodes, below);
  const of = new Map(nodes.map((id) => [id, 0]));
  const above = new Map<string, Tie[]>(nodes.map((id) => [id, []]));
  const passed = new Set<string>();
  for (const id of order) {
    passed.add(id);
    for (const tie of below.get(id) ?? []) {
      if (passed.has(tie.lower)) continue;
      above.get(tie.lower)?.push(tie);
      of.set(tie.lower, Math.max(of.get(tie.lower) ?? 0, (of.get(id) ?? 0) + 1));
    }
  }
  const parents = new Map<string, string>();
  const wholes = new Map<string, string>();
  const children = new Map<string, number>();
  for (const id of order) {
    const ties = above.get(id) ?? [];
    const whole = ties.find(({ contains }) => contains)?.upper;
    if (whole !== undefined) wholes.set(id, whole);
    const right = ties.filter(({ upper }) => of.get(upper) === (of.get(id) ?? 0) - 1);
    const containing = right.filter(({ contains }) => contains);
    // What several lead to is shared out among them, so that they stand side by side.
    let best: string | undefined;
    for (const { upper } of containing.length > 0 ? containing : right) {
      if (best === undefined || (children.get(upper) ?? 0) < (children.get(best) ?? 0))
        best = upper;
    }
    if (best === undefined) continue;
    parents.set(id, best);
    children.set(best, (children.get(best) ?? 0) + 1);
  }
  return { of, parents, wholes };
}
