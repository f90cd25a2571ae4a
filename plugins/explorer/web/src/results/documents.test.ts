import { expect, test } from "vitest";

import { collectDocuments, leaveOut } from "./documents";

const twin = ($dtId: string) => ({ $dtId, $metadata: { $model: "dtmi:x:A;1" } });
const edge = ($sourceId: string, $relationshipId: string, $targetId: string) => ({
  $sourceId,
  $relationshipId,
  $targetId,
  $relationshipName: "feeds",
});
const ROWS = [
  { a: twin("a"), list: [twin("b"), { inner: edge("a", "r", "b") }] },
  { a: twin("a"), c: edge("c", "r", "d"), d: edge("b", "s", "c") },
];

test("twins and relationships are found wherever they are, each once", () => {
  const { twins, relationships } = collectDocuments(ROWS);
  expect(twins.map((one) => one.$dtId)).toEqual(["a", "b"]);
  expect(relationships.map((one) => one.$relationshipId)).toEqual(["r", "r", "s"]);
});

test("with a twin that is gone its relationships are, and of one alone no other", () => {
  const left = (...gone: string[]): string[] => {
    const { twins, relationships } = leaveOut(collectDocuments(ROWS), (key) => gone.includes(key));
    return [
      ...twins.map((one) => one.$dtId),
      ...relationships.map((one) => `${one.$sourceId}-${one.$relationshipId}`),
    ];
  };
  expect(left("a")).toEqual(["b", "c-r", "b-s"]);
  expect(left("c")).toEqual(["a", "b", "a-r"]);
  expect(left("a\nr")).toEqual(["a", "b", "c-r", "b-s"]);
});
