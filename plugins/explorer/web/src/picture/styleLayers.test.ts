import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { PLAIN, type Style } from "./style";
import {
  changeStyle,
  findChanges,
  isUnchanged,
  NO_CHANGES,
  readChanges,
  renderChanges,
} from "./styleLayers";
import { useStyle } from "./styleStore";

const kept = new Map<string, string>();
beforeEach(() => {
  kept.clear();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  });
});
afterEach(() => vi.unstubAllGlobals());

const SHARED: Style = {
  version: 1,
  models: { a: { color: "#111111" }, b: { icon: "user" } },
  relationships: { feeds: { color: "#222222" } },
  rules: [
    {
      kind: "value",
      property: "alarm",
      model: null,
      operator: "=",
      value: "true",
      color: "#e04040",
    },
  ],
};
const OTHER: Style = {
  version: 1,
  models: { a: { color: "#333333" }, c: { size: 2 } },
  relationships: {},
  rules: [],
};

describe("changes of a style", () => {
  test("make the other style of the one, with what is taken away", () => {
    const changes = findChanges(SHARED, OTHER);
    expect(changes).toEqual({
      models: { a: { color: "#333333" }, b: null, c: { size: 2 } },
      relationships: { feeds: null },
      rules: [],
    });
    expect(changeStyle(SHARED, changes)).toEqual(OTHER);
    expect(isUnchanged(findChanges(SHARED, { ...SHARED, models: { ...SHARED.models } }))).toBe(
      true,
    );
  });

  test("are kept and read as they are", () => {
    const changes = findChanges(SHARED, OTHER);
    expect(readChanges(JSON.parse(JSON.stringify(renderChanges(changes))))).toEqual(changes);
  });

  test("are all of the style that a browser kept before there was one for everyone", () => {
    expect(readChanges(SHARED)).toEqual({ ...SHARED, version: undefined });
    expect(readChanges(PLAIN)).toEqual(NO_CHANGES);
    for (const kept of [null, "x", 3, [], { version: 9 }]) {
      expect(readChanges(kept)).toEqual(NO_CHANGES);
    }
  });
});

describe("the style that is drawn by", () => {
  test("is that for everyone below what this browser changes", () => {
    const { open, share, styleModel, reset } = useStyle.getState();
    open({ base: "", graphId: "layers", subject: null });
    share(SHARED);
    styleModel("c", { size: 2 });
    expect(useStyle.getState().own.models).toEqual({ c: { size: 2 } });
    share({ ...SHARED, models: { a: { color: "#444444" } } });
    expect(useStyle.getState().style.models).toEqual({ a: { color: "#444444" }, c: { size: 2 } });
    reset();
    expect(useStyle.getState().style.models).toEqual({ a: { color: "#444444" } });
  });

  test("is the workspace's while one is open, and leaves nothing behind", () => {
    const { open, share, wear, styleModel } = useStyle.getState();
    open({ base: "", graphId: "worn", subject: null });
    wear(OTHER);
    share(SHARED);
    styleModel("a", { color: "#555555" });
    expect(useStyle.getState().style.models["a"]).toEqual({ color: "#555555" });
    wear(null);
    expect(useStyle.getState().style).toEqual(SHARED);
    expect(isUnchanged(useStyle.getState().own)).toBe(true);
  });
});
