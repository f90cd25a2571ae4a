import { expect, test } from "vitest";

import type { ModelEntry } from "../api/types";
import { buildCounts } from "../models/counts";
import { ModelIndex } from "../models/index";
import { findConcerns, listQuestions } from "./attention";

const PUMP = "dtmi:com:example:Pump;1";
const OLD = "dtmi:com:example:Old;1";

function build(id: string, contents: object[], decommissioned = false): ModelEntry {
  return {
    id,
    uploadTime: "",
    decommissioned,
    model: { "@id": id, "@type": "Interface", contents: contents as never },
  };
}

const status = {
  "@type": "Property",
  name: "status",
  schema: {
    "@type": "Enum",
    valueSchema: "string",
    enumValues: [
      { name: "ok", enumValue: "ok" },
      { name: "fault", enumValue: "it's off" },
    ],
  },
};
const index = new ModelIndex([
  build(PUMP, [
    status,
    { "@type": "Property", name: "leakAlarm", schema: "boolean" },
    { "@type": "Property", name: "alarmCount", schema: "integer" },
  ]),
  build(OLD, [], true),
]);

test("decommissioned models in use and models that are missing are concerns", () => {
  const counts = buildCounts(new Map(Object.entries({ [OLD]: 2, "dtmi:x:Gone;1": 1 })), index);
  expect(findConcerns(index, counts).map((one) => one.text)).toEqual([
    "2 twins of Old, which is decommissioned",
    "1 twin of Gone, a model that is not stored",
  ]);
  expect(findConcerns(index, buildCounts(new Map([[PUMP, 5]]), index))).toEqual([]);
  expect(findConcerns(index, null)).toEqual([]);
});

test("alarms and faults are asked of the models that declare them, and twins that stand alone", () => {
  const counts = buildCounts(new Map([[PUMP, 5]]), index);
  expect(listQuestions(index, counts).map((one) => one.match)).toEqual([
    "MATCH (n:Pump)\nWHERE n.status = 'it\\'s off'",
    "MATCH (n:Pump)\nWHERE n.leakAlarm = true",
    "MATCH (n)\nWHERE NOT EXISTS { (n)--() }",
  ]);
});

test("nothing that would take a long scan is asked of a large graph", () => {
  const counts = buildCounts(new Map([[PUMP, 1_000_000]]), index);
  expect(listQuestions(index, counts)).toEqual([]);
});
