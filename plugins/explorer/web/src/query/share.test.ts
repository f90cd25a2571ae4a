import fc from "fast-check";
import { expect, test } from "vitest";

import { dropQuery, readLink, renderLink } from "./share";

test("what a link carries is what it was made of", () => {
  const view = fc.constantFrom(
    "table" as const,
    "json" as const,
    "graph" as const,
    "plan" as const,
  );
  const written = fc
    .string({ unit: "grapheme", minLength: 1 })
    .filter((text) => text.trim() !== "");
  fc.assert(
    fc.property(written, view, (text, one) => {
      const shared = { text, parameters: '{"x": "a&b=c"}', view: one };
      expect(readLink(renderLink(shared))).toEqual(shared);
    }),
  );
});

test("an address without a query carries none, and a view that is none is the table", () => {
  expect(readLink("")).toBeNull();
  expect(readLink("?query=%20")).toBeNull();
  expect(readLink("?query=MATCH&view=evil")).toEqual({
    text: "MATCH",
    parameters: "",
    view: "table",
  });
});

test("an address that loses its query keeps what else it says", () => {
  expect(dropQuery("?query=RETURN+1&view=json&twin=a%25b")).toBe("?twin=a%25b");
  expect(dropQuery("?query=RETURN+1&parameters=%7B%7D")).toBe("");
});
