import { describe, expect, it } from "vitest";

import type { Resource, ResourceStatus } from "../api/control";
import { isDeletable, paceOf } from "./data";

function build(status: ResourceStatus): Resource {
  return {
    resource_id: "tower",
    project_id: "campus",
    name: "Tower",
    type: "Platform.Graph",
    sku: "free",
    status,
    settings_json: {},
    created_at: "",
    updated_at: "",
  };
}

describe("the states of a project's resources", () => {
  it("are asked for often while one moves, wherever one looks", () => {
    const moving = [build("running"), build("deleting")];
    expect(paceOf(moving, false)).toBe(paceOf(moving, true));
    expect(paceOf(moving, true)).toBeLessThan(paceOf([build("running")], true));
  });

  it("are asked for less often where nobody looks", () => {
    expect(paceOf([build("error")], false)).toBeGreaterThan(paceOf([build("error")], true));
    expect(paceOf(undefined, false)).toBeGreaterThan(paceOf(undefined, true));
  });
});

describe("what is deleted", () => {
  it("is offered to be deleted once", () => {
    const states: ResourceStatus[] = ["creating", "running", "updating", "error", "deleting"];
    const offered = states.filter((one) => isDeletable(build(one)));
    expect(offered).toEqual(["creating", "running", "updating", "error"]);
  });
});
