import { hierarchy, tree } from "d3-hierarchy";

import { wrap, type PlanNode } from "./plan";

export const CARD_WIDTH = 340;
/** As many of the widest usual monospaced font as a card holds. */
const CHARACTERS = 43;
const LINE_HEIGHT = 16;
const GAP = { across: 40, down: 40 };
// Around what a part runs; its name stands above the first card.
const FRAME = { side: 14, above: 24, below: 12 };

/** An operator where it is drawn; `x` and `y` are its upper left corner. */
export interface Card {
  node: PlanNode;
  lines: string[];
  x: number;
  y: number;
  height: number;
}

export interface PlanLayout {
  cards: Card[];
  /** From the one that feeds to the one that is fed. */
  edges: { from: Card; to: Card }[];
  /** Around the cards that a part runs. */
  parts: { part: number; x: number; y: number; width: number; height: number }[];
  width: number;
  height: number;
}

/** Places the operators of a plan: the result on top, what feeds it below. */
export function layOut(root: PlanNode): PlanLayout {
  const placed = tree<PlanNode>().nodeSize([CARD_WIDTH + GAP.across, 1])(
    hierarchy(root, (node) => node.children),
  );
  const cards = new Map(
    placed.descendants().map((one) => {
      const lines = one.data.arguments.flatMap((line) => wrap(line, CHARACTERS, 3)).slice(0, 8);
      const height = 30 + lines.length * LINE_HEIGHT + (lines.length > 0 ? 6 : 0);
      return [one, { node: one.data, lines, x: one.x, y: 0, height } satisfies Card];
    }),
  );
  const tops = findTops([...cards].map(([one, card]) => [one.depth, card.height]));
  const left = Math.min(...placed.descendants().map((one) => one.x));
  for (const [one, card] of cards) {
    card.x = card.x - left + GAP.across;
    card.y = tops[one.depth] ?? 0;
  }
  const all = [...cards.values()];
  const edges = placed.links().flatMap(({ source, target }) => {
    const [to, from] = [cards.get(source), cards.get(target)];
    return from === undefined || to === undefined ? [] : [{ from, to }];
  });
  return {
    cards: all,
    edges,
    parts: frameParts(all),
    width: Math.max(...all.map((one) => one.x)) + CARD_WIDTH + GAP.across,
    height: Math.max(...all.map((one) => one.y + one.height)) + GAP.down,
  };
}

/** Where each depth begins, so that the highest card of the one above is passed. */
function findTops(heights: [number, number][]): number[] {
  const highest: number[] = [];
  for (const [depth, height] of heights) highest[depth] = Math.max(highest[depth] ?? 0, height);
  let top: number = GAP.down;
  return highest.map((height) => {
    const at = top;
    top += height + GAP.down;
    return at;
  });
}

function frameParts(cards: Card[]): PlanLayout["parts"] {
  const parts = [...new Set(cards.map((one) => one.node.part))].filter((one) => one !== null);
  return parts.map((part) => {
    const own = cards.filter((one) => one.node.part === part);
    const [x, y] = [Math.min(...own.map((one) => one.x)), Math.min(...own.map((one) => one.y))];
    const right = Math.max(...own.map((one) => one.x)) + CARD_WIDTH;
    const bottom = Math.max(...own.map((one) => one.y + one.height));
    return {
      part,
      x: x - FRAME.side,
      y: y - FRAME.above,
      width: right - x + 2 * FRAME.side,
      height: bottom - y + FRAME.above + FRAME.below,
    };
  });
}
