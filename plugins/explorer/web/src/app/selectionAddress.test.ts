import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { Selected } from "./selection";
import { readSelected, renderSelected } from "./selectionAddress";

const id = fc.string({ minLength: 1 });
const selected: fc.Arbitrary<Selected> = fc.oneof(
  fc.record({ kind: fc.constant("twin" as const), id }),
  fc.record({ kind: fc.constant("relationship" as const), sourceId: id, id }),
  fc.record({ kind: fc.constant("model" as const), id }),
);

describe("what is selected", () => {
  test("is read from an address as it was written, in place of what was there", () => {
    fc.assert(
      fc.property(selected, selected, (one, other) => {
        const search = renderSelected(renderSelected("?query=x", other), one);
        expect(readSelected(search)).toEqual(one);
        expect(new URLSearchParams(search).get("query")).toBe("x");
      }),
    );
  });

  test("leaves nothing in the address where it is nothing", () => {
    expect(renderSelected("?twin=a&relationship=b", null)).toBe("");
    expect(readSelected("")).toBeNull();
    expect(readSelected("?relationship=b")).toBeNull();
    expect(renderSelected("?query=a%25b&twin=c", null)).toBe("?query=a%25b");
  });
});
