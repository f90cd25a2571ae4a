import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { expiryOf, nameOf, parseClaims, parsePasted } from "./claims";

function build(claims: object): string {
  const bytes = new TextEncoder().encode(JSON.stringify(claims));
  const text = btoa(String.fromCharCode(...bytes));
  return `e30.${text.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")}.sig`;
}

describe("the claims of a token", () => {
  it("are read whatever letters they hold", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 20 }), (name) => {
        expect(parseClaims(build({ name }))).toEqual({ name });
      }),
    );
  });

  it("are none where the token is no JWT", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(() => parseClaims(text)).not.toThrow();
      }),
    );
    expect(parseClaims("opaque")).toBeNull();
    expect(parseClaims("a.bnVsbA.c")).toBeNull();
  });

  it("tell the name that a person goes by before the subject", () => {
    expect(nameOf({ sub: "u-1", name: "Ada" })).toBe("Ada");
    expect(nameOf({ sub: "u-1", name: "" })).toBe("u-1");
    expect(nameOf({})).toBeNull();
    expect(nameOf(null)).toBeNull();
  });

  it("tell the end in milliseconds", () => {
    expect(expiryOf({ exp: 12 })).toBe(12_000);
    expect(expiryOf({ exp: "12" })).toBeNull();
  });
});

describe("a pasted token", () => {
  it("loses what came along with it", () => {
    expect(parsePasted("  Authorization: Bearer abc.def\n.ghi \n")).toBe("abc.def.ghi");
    expect(parsePasted("bearer abc")).toBe("abc");
    expect(parsePasted("bearerabc")).toBe("bearerabc");
  });
});
