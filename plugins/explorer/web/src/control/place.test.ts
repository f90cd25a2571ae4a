import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { parsePlace, renderPlace, suggestId, type Place } from "./place";

const id = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);

describe("a place of the control plane", () => {
  it("comes back from its text", () => {
    const place: fc.Arbitrary<Place> = fc.oneof(
      fc.constant({ type: "platform" as const }),
      id.map((one) => ({ type: "organization" as const, id: one })),
      id.map((one) => ({ type: "project" as const, id: one })),
      fc
        .tuple(id, id)
        .map(([projectId, one]) => ({ type: "resource" as const, projectId, id: one })),
    );
    fc.assert(
      fc.property(place, (one) => {
        expect(parsePlace(renderPlace(one))).toEqual(one);
      }),
    );
  });

  it("is none where the text is something else", () => {
    for (const text of [
      null,
      "",
      "project",
      "planet:x",
      "platform:platform",
      "resource:x",
      "project:a/b",
      "project:",
    ]) {
      expect(parsePlace(text)).toBeNull();
    }
  });
});

describe("the id that is made of a name", () => {
  it("is one that the service takes, or empty", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 90 }), (name) => {
        expect(suggestId(name)).toMatch(/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$/);
      }),
    );
  });

  it("keeps the letters below their accents", () => {
    expect(suggestId("Zürich — Gebäude 2")).toBe("zurich-gebaude-2");
  });
});
