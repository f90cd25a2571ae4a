import { describe, expect, it } from "vitest";

import { covers } from "./permissions";

describe("covers", () => {
  it("takes a grant for the permission of its name alone", () => {
    expect(covers(["digitaltwins/read"], "digitaltwins/read")).toBe(true);
    expect(covers(["digitaltwins/read"], "digitaltwins/write")).toBe(false);
    expect(covers(["digitaltwins/read"], "digitaltwins/read/more")).toBe(false);
  });

  it("takes a star for everything below, but not for what only begins alike", () => {
    expect(covers(["digitaltwins/*"], "digitaltwins/relationships/write")).toBe(true);
    expect(covers(["digitaltwins/*"], "digitaltwinsets/read")).toBe(false);
    expect(covers(["digitaltwins/relationships/*"], "digitaltwins/read")).toBe(false);
  });

  it("knows no star over everything", () => {
    expect(covers(["*"], "models/read")).toBe(false);
  });

  it("knows the vendor's name of the permission to query", () => {
    expect(covers(["query/action"], "query/read")).toBe(true);
    expect(covers(["query/read"], "query/action")).toBe(true);
  });
});
