import { expect, test } from "vitest";

import type { Level, Located } from "./read";
import { buildNodes, keyOfWay, listOpen, MORE, type Node } from "./tree";

const at = (id: string, below = 0): Located => ({ id, name: id, model: "m", below });
const keysOf = (nodes: readonly Node[]): string[] =>
  nodes.flatMap((one) => [one.key, ...keysOf(one.children)]);

test("of what is closed or not read yet there is one row below, of a part without parts none", () => {
  const levels = new Map<string, Level>([["a", { rows: [at("b", 1), at("c")], more: true }]]);
  const partsOf = (id: string): Level | undefined => levels.get(id);
  const closed = buildNodes([at("a", 2)], new Set(), partsOf);
  expect(keysOf(closed)).toEqual(["a", "a\n…loading"]);
  const opened = buildNodes([at("a", 2)], new Set(["a", "a\nb"]), partsOf);
  expect(keysOf(opened)).toEqual(["a", "a\nb", "a\nb\n…loading", "a\nc", `a\n${MORE}`]);
});

test("what contains itself is not opened again below itself", () => {
  const partsOf = (): Level => ({ rows: [at("a", 1)], more: false });
  const nodes = buildNodes([at("a", 1)], new Set(["a", "a\na", "a\na\na"]), partsOf);
  expect(keysOf(nodes)).toEqual(["a", "a\na"]);
});

test("the row of a twin is found by the way to it, if that begins at the top", () => {
  const top = [at("s", 1)];
  expect(keyOfWay(top, [at("s", 1), at("b", 1)], "r")).toBe("s\nb\nr");
  expect(keyOfWay(top, [], "s")).toBe("s");
  expect(keyOfWay(top, [at("other", 1)], "r")).toBeNull();
  expect(keyOfWay(top, [], null)).toBeNull();
  expect(listOpen("s\nb\nr")).toEqual(["s", "s\nb"]);
});
