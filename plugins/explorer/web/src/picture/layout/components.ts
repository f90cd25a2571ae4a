interface Ends {
  source: string;
  target: string;
}

export type Pair = readonly [number, number];

/** The links between two of these nodes as indexes; what leads from a node to itself is left out. */
export function listPairs(nodes: readonly string[], links: readonly Ends[]): Pair[] {
  const indexes = new Map(nodes.map((id, at) => [id, at]));
  return links.flatMap(({ source, target }): Pair[] => {
    const [one, other] = [indexes.get(source), indexes.get(target)];
    return one === undefined || other === undefined || one === other ? [] : [[one, other]];
  });
}

/** The indexes of nodes that hang together, by component; the first of each in order. */
export function listComponents(count: number, pairs: readonly Pair[]): number[][] {
  const above = Array.from({ length: count }, (_, at) => at);
  const rootOf = (at: number): number => {
    let root = at;
    while (above[root] !== root) root = above[root] ?? root;
    above[at] = root;
    return root;
  };
  for (const [one, other] of pairs) above[rootOf(one)] = rootOf(other);
  const found = new Map<number, number[]>();
  for (let at = 0; at < count; at++) {
    const known = found.get(rootOf(at));
    if (known === undefined) found.set(rootOf(at), [at]);
    else known.push(at);
  }
  return [...found.values()];
}
