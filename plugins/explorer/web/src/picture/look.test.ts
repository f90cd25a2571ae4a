import { expect, test } from "vitest";

import { drawNode, type Look, type NodeAttributes } from "./look";

const NONE: ReadonlySet<string> = new Set();
const BLUE: NodeAttributes = {
  x: 0,
  y: 0,
  label: "Hall",
  color: "#2d5ad7",
  image: "data:,",
  size: 6,
  factor: 1,
  hub: false,
};
const LOOK = {
  visibleNodes: new Set(["a", "b"]),
  visibleEdges: NONE,
  chosen: NONE,
  chosenEdge: null,
  path: null,
  marked: new Set(["b"]),
  changed: null,
  pinned: NONE,
  lit: NONE,
  near: null,
  beside: NONE,
  from: null,
  large: false,
  palette: { dim: "rgb(230, 233, 237)", accent: "rgb(0, 0, 255)" },
} as unknown as Look;

test("what is not highlighted keeps its icon and a paler colour, and says its name to the pointer", () => {
  const [aside, told] = [drawNode("a", BLUE, LOOK), drawNode("b", BLUE, LOOK)];
  expect([told.color, told.label]).toEqual([BLUE.color, "Hall"]);
  expect([aside.type, aside.label]).toEqual(["icon", null]);
  const channels = [1, 3, 5].map((at) => parseInt((aside.color ?? "").slice(at, at + 2), 16));
  // Between its own colour and that of what is dim, and still the bluest.
  for (const [at, least, most] of [
    [0, 0x2d, 230],
    [1, 0x5a, 233],
    [2, 0xd7, 237],
  ] as const) {
    expect(channels[at]).toBeGreaterThan(least);
    expect(channels[at]).toBeLessThan(most);
  }
  const near = { id: "a", nodes: NONE, edges: NONE };
  expect(drawNode("a", BLUE, { ...LOOK, near }).label).toBe("Hall");
});
