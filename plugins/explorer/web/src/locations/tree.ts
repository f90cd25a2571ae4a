import type { Level, Located } from "./read";

/** A row of the tree; the same twin may stand at several. */
export interface Node {
  /** The ids from the top to here, a line each. */
  key: string;
  /** Null for a row that stands for what is not read yet. */
  row: Located | null;
  /** Whether it asks for more of a level. */
  isMore: boolean;
  children: Node[];
}

/** In place of an id, in the key of a row that asks for more. */
export const MORE = "…more";
const LOADING = "…loading";

/** The rows as far as they are open: of what is closed there is at most one below. */
export function buildNodes(
  top: readonly Located[],
  opened: { has(key: string): boolean },
  partsOf: (id: string) => Level | undefined,
): Node[] {
  const waiting = (key: string): Node => {
    return { key: `${key}\n${LOADING}`, row: null, isMore: false, children: [] };
  };
  const build = (rows: readonly Located[], above: string): Node[] =>
    rows.map((row) => {
      const key = above === "" ? row.id : `${above}\n${row.id}`;
      // What contains itself is not opened again below itself.
      const isClosed = row.below === 0 || above.split("\n").includes(row.id);
      if (isClosed) return { key, row, isMore: false, children: [] };
      const level = opened.has(key) ? partsOf(row.id) : undefined;
      if (level === undefined) return { key, row, isMore: false, children: [waiting(key)] };
      const children = build(level.rows, key);
      if (level.more) {
        children.push({ key: `${key}\n${MORE}`, row: null, isMore: true, children: [] });
      }
      return { key, row, isMore: false, children };
    });
  return build(top, "");
}

/** The key of the row of a twin, by the way to it; null where the tree does not lead to it. */
export function keyOfWay(
  top: readonly Located[],
  way: readonly Located[],
  id: string | null,
): string | null {
  if (id === null) return null;
  const ids = [...way.map((one) => one.id), id];
  return top.some((one) => one.id === ids[0]) ? ids.join("\n") : null;
}

/** The keys above a key: what has to be open for it to be seen. */
export function listOpen(key: string): string[] {
  const parts = key.split("\n");
  return parts.slice(1).map((_one, at) => parts.slice(0, at + 1).join("\n"));
}
