import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { Twin } from "../api/types";
import { readKept } from "./pins";

const ADA = { base: "", graphId: "~own", subject: "ada" };
const kept = new Map<string, string>();

beforeEach(() => {
  kept.clear();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  });
});
afterEach(() => vi.unstubAllGlobals());

const TWINS = ["a", "b", "c"].map((id) => ({ $dtId: id, $metadata: { $model: "m" } }) as Twin);

/** The store as a page has it that was just opened. */
async function openPage(keeper = ADA) {
  vi.resetModules();
  const { usePicture, places } = await import("./store");
  usePicture.getState().open(keeper);
  return { picture: usePicture.getState, places };
}

describe("what is pinned", () => {
  test("is at its place and pinned again after a reload, with the layout that was chosen", async () => {
    const first = await openPage();
    first.picture().show(TWINS, []);
    first.places.set("a", { x: 3, y: 4 });
    first.places.set("b", { x: 5, y: 6 });
    first.picture().pin(["a", "b"], true);
    first.picture().pin(["b"], false);
    first.picture().setLayout("layers");
    const then = await openPage();
    expect(then.picture().layout).toBe("layers");
    then.picture().show(TWINS.slice(1), []);
    expect([...then.picture().pinned]).toEqual([]);
    then.picture().add(TWINS.slice(0, 1), []);
    expect([...then.picture().pinned]).toEqual(["a"]);
    expect(then.places.get("a")).toEqual({ x: 3, y: 4 });
    expect(then.places.has("b")).toBe(false);
  });

  test("is of one who is signed in and of one graph", async () => {
    const first = await openPage();
    first.picture().show(TWINS, []);
    first.places.set("a", { x: 3, y: 4 });
    first.picture().pin(["a"], true);
    for (const other of [
      { ...ADA, subject: "rob" },
      { ...ADA, graphId: "else" },
    ]) {
      const { picture } = await openPage(other);
      picture().show(TWINS, []);
      expect(picture().pinned.size).toBe(0);
    }
  });

  test("in another tab is not lost", async () => {
    const one = await openPage();
    const other = await openPage();
    for (const [tab, id] of [[one, "a"] as const, [other, "b"] as const]) {
      tab.picture().show(TWINS, []);
      tab.places.set(id, { x: 1, y: 1 });
      tab.picture().pin([id], true);
    }
    const { picture } = await openPage();
    picture().show(TWINS, []);
    expect([...picture().pinned]).toEqual(["a", "b"]);
  });

  test("is read from what is well-formed alone", () => {
    for (const wrong of [
      null,
      7,
      "x",
      [],
      { pins: 3 },
      { layout: "spiral", pins: [1, ["a", "b"]] },
    ]) {
      expect(readKept(wrong)).toEqual({ layout: "force", pins: new Map() });
    }
    const some = readKept({
      layout: "grid",
      pins: [
        ["a", 1, 2],
        ["b", null, 2],
      ],
    });
    expect(some).toEqual({ layout: "grid", pins: new Map([["a", { x: 1, y: 2 }]]) });
  });
});
