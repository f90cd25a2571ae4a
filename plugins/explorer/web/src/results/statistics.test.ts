import { expect, test } from "vitest";

import { listStatistics } from "./statistics";

const NOTHING = {
  nodesCreated: 0,
  nodesDeleted: 0,
  relationshipsCreated: 0,
  relationshipsDeleted: 0,
  propertiesSet: 0,
  labelsAdded: 0,
  labelsRemoved: 0,
};

test("what a statement changed is told by the counts that are not zero", () => {
  expect(listStatistics(NOTHING)).toEqual([]);
  const changed = { ...NOTHING, nodesDeleted: 1, propertiesSet: 1200, relationshipsDeleted: 2 };
  expect(listStatistics(changed)).toEqual([
    "1 twin deleted",
    "2 relationships deleted",
    "1,200 properties set",
  ]);
});
