import { expect, test } from "vitest";

import type { JsonObject, ModelEntry } from "../api/types";
import { ModelIndex } from "../models/index";
import { buildSamples } from "./samples";

function entry(id: string, contents: JsonObject[]): ModelEntry {
  const model = { "@id": id, "@type": "Interface", contents };
  return { id, uploadTime: "", decommissioned: false, model };
}

const number = (name: string) => ({ "@type": "Property", name, schema: "double" });

test("the samples are about what twins there may be", () => {
  const index = new ModelIndex([
    entry("dtmi:x:Climate;1", [number("warmth")]),
    entry("dtmi:x:Room;1", [
      { "@type": "Component", name: "climate", schema: "dtmi:x:Climate;1" },
      { "@type": "Relationship", name: "contains", target: "dtmi:x:Room;1" },
      number("order"),
    ]),
  ]);
  const texts = buildSamples(index).map((one) => one.text);
  expect(texts.some((text) => text.includes(":Climate"))).toBe(false);
  const largest = "(n:Room)\nWHERE n.order IS NOT NULL\nRETURN n, n.order AS order";
  expect(texts).toContainEqual(expect.stringContaining(largest));
  expect(texts).toContainEqual(expect.stringContaining("(a:Room)-[r:`contains`]->(b:Room)"));
});

test("a graph without models has samples too", () => {
  expect(buildSamples(new ModelIndex([])).length).toBeGreaterThan(1);
});
