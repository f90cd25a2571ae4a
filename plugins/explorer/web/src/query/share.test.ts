import fc from "fast-check";
import { expect, test } from "vitest";

import { dropQuery, readLink, renderLink } from "./share";

test("what a link carries is what it was made of, in the part that is sent nowhere", () => {
  const view = fc.constantFrom(
    "table" as const,
    "json" as const,
    "graph" as const,
    "plan" as const,
    null,
  );
  const written = fc
    .string({ unit: fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom("\n", "\r", "\t")) })
    .filter((text) => text.trim() !== "");
  fc.assert(
    fc.property(written, view, (text, one) => {
      const shared = { text, parameters: '{\n  "x": "a&b=c#d"\n}', view: one };
      const { search, hash } = new URL(renderLink(shared), "http://host/explorer/~own/query");
      expect(search).toBe("");
      expect(readLink(search, hash)).toEqual(shared);
    }),
  );
});

test("an address without a query carries none, and a view that is none is left to the result", () => {
  expect(readLink("", "")).toBeNull();
  expect(readLink("?query=%20", "#query=")).toBeNull();
  expect(readLink("", "#query=MATCH&view=evil")).toEqual({
    text: "MATCH",
    parameters: "",
    view: null,
  });
});

test("links of before have it in their search part, and the fragment goes before that", () => {
  expect(readLink("?query=RETURN+1&view=json&twin=a", "")).toEqual({
    text: "RETURN 1",
    parameters: "",
    view: "json",
  });
  expect(readLink("?query=RETURN+1&view=json", "#query=RETURN+2")?.text).toBe("RETURN 2");
});

test("an address that loses its query keeps what else it says", () => {
  expect(dropQuery("?query=RETURN+1&view=json&twin=a%25b")).toBe("?twin=a%25b");
  expect(dropQuery("?query=RETURN+1&parameters=%7B%7D")).toBe("");
});
