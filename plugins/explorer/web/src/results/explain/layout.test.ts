import fc from "fast-check";
import { expect, test } from "vitest";

import { CARD_WIDTH, layOut } from "./layout";
import { listOperators, type PlanNode } from "./plan";

const plan: fc.Arbitrary<PlanNode> = fc.letrec<{ node: PlanNode }>((tie) => ({
  node: fc.record({
    operator: fc.constantFrom("Match", "Filter", "Union"),
    arguments: fc.array(fc.string({ maxLength: 120 }), { maxLength: 3 }),
    part: fc.constantFrom(null, 0, 1),
    children: fc.oneof(
      { maxDepth: 4 },
      fc.constant<PlanNode[]>([]),
      fc.array(tie("node"), { maxLength: 2 }),
    ),
  }),
})).node;

test("every operator is drawn once, within the picture, over none of the others", () => {
  fc.assert(
    fc.property(plan, (root) => {
      const { cards, edges, width, height } = layOut(root);
      expect(cards).toHaveLength(listOperators(root).length);
      expect(edges).toHaveLength(cards.length - 1);
      for (const card of cards) {
        expect(card.x).toBeGreaterThanOrEqual(0);
        expect(card.y).toBeGreaterThanOrEqual(0);
        expect(card.x + CARD_WIDTH).toBeLessThanOrEqual(width);
        expect(card.y + card.height).toBeLessThanOrEqual(height);
        const covered = cards.filter(
          (other) =>
            other !== card &&
            Math.abs(other.x - card.x) < CARD_WIDTH &&
            other.y < card.y + card.height &&
            card.y < other.y + other.height,
        );
        expect(covered).toEqual([]);
      }
    }),
    { numRuns: 60 },
  );
});

test("what feeds an operator stands below it, and a part is framed with all of its operators", () => {
  const unit = { operator: "Unit", arguments: [], part: 0, children: [] };
  const match = { operator: "Match", arguments: ["node (a)"], part: 0, children: [unit] };
  const { cards, parts } = layOut({
    operator: "Result",
    arguments: ["a"],
    part: null,
    children: [match],
  });
  const [result, pushed, last] = cards;
  expect(result?.y).toBeLessThan(pushed?.y ?? 0);
  expect(parts).toHaveLength(1);
  const [frame] = parts;
  expect(frame?.y).toBeGreaterThan(result?.y ?? 0);
  expect((frame?.y ?? 0) + (frame?.height ?? 0)).toBeGreaterThan(
    (last?.y ?? 0) + (last?.height ?? 0),
  );
});
