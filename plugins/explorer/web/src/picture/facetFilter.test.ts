import { describe, expect, test } from "vitest";

import type { Twin } from "../api/types";
import { changeFacet, countFacet, passesFacets, type FacetChoice } from "./facetFilter";

function twin(id: string, members: object): [string, Twin] {
  return [id, { $dtId: id, $etag: "", $metadata: { $model: "m" }, ...members } as Twin];
}

const TWINS = new Map<string, Twin | null>([
  twin("a", { mode: "auto", on: true, air: { heat: 20 } }),
  twin("b", { mode: "auto", on: false, air: { heat: 24.5 } }),
  twin("c", { mode: "off", air: { heat: 9007199254740993n } }),
  ["d", null],
]);
const MODE: FacetChoice = { property: "mode", kind: "values", values: ["auto"] };
const WARM: FacetChoice = { property: "air.heat", kind: "range", from: 20, to: 25 };

function passing(...choices: FacetChoice[]): string[] {
  return [...TWINS].filter(([, one]) => passesFacets(choices, one)).map(([id]) => id);
}

describe("a facet", () => {
  test("lets through what has one of its values, and all facets hold together", () => {
    expect(passing()).toEqual(["a", "b", "c", "d"]);
    expect(passing(MODE)).toEqual(["a", "b"]);
    expect(passing(WARM)).toEqual(["a", "b"]);
    expect(passing({ ...WARM, to: null } as FacetChoice)).toEqual(["a", "b", "c"]);
    expect(passing({ property: "on", kind: "values", values: ["true", "false"] })).toEqual([
      "a",
      "b",
    ]);
    expect(passing(MODE, { property: "on", kind: "values", values: ["true"] })).toEqual(["a"]);
  });

  test("counts values, those that are to be seen, and the span of numbers", () => {
    const shown = new Set(["a"]);
    expect(countFacet(TWINS, shown, "mode")).toEqual({
      values: [
        { value: "auto", count: 2, shown: 1 },
        { value: "off", count: 1, shown: 0 },
      ],
      count: 3,
      span: null,
    });
    expect(countFacet(TWINS, shown, "air.heat").span).toEqual([20, 9007199254740992]);
    expect(countFacet(TWINS, shown, "constructor").count).toBe(0);
  });

  test("is chosen once a property, and let go", () => {
    const one = changeFacet([MODE], "mode", { ...MODE, values: ["off"] } as FacetChoice);
    expect(one).toEqual([{ ...MODE, values: ["off"] }]);
    expect(changeFacet(one, "mode", null)).toEqual([]);
  });
});
