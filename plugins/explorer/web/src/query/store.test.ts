import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Keeper } from "./storage";

const ADA = { base: "", graphId: "~own", subject: "ada" };
const OUTCOME = { rows: 1, more: false, milliseconds: 1 };

/** The storage of a browser, which may have no room. */
class FakeStorage {
  readonly kept = new Map<string, string>();
  hasRoom = true;

  getItem(key: string): string | null {
    return this.kept.get(key) ?? null;
  }

  setItem(key: string, value: string): void {
    if (!this.hasRoom) throw new DOMException("no room", "QuotaExceededError");
    this.kept.set(key, value);
  }
}

/** The store as a tab of its own has it. */
async function openTab(keeper: Keeper = ADA) {
  vi.resetModules();
  const { useQueries } = await import("./store");
  useQueries.getState().open(keeper);
  return useQueries.getState;
}

let local: FakeStorage;

beforeEach(() => {
  local = new FakeStorage();
  vi.stubGlobal("localStorage", local);
  vi.stubGlobal("sessionStorage", new FakeStorage());
});
afterEach(() => void vi.unstubAllGlobals());

const query = (name: string) => ({ name, text: `RETURN '${name}'`, parameters: "" });

test("what two tabs save, forget and run is kept of both", async () => {
  const [one, other] = [await openTab(), await openTab()];
  one().save(query("a"));
  other().save(query("b"));
  one().save(query("c"));
  other().forget("a");
  one().remember("RETURN 1", "", OUTCOME);
  other().remember("RETURN 2", "", OUTCOME);
  const third = await openTab();
  expect(third().saved.map((each) => each.name)).toEqual(["b", "c"]);
  expect(third().history.map((each) => each.text)).toEqual(["RETURN 2", "RETURN 1"]);

  one().hear([...local.kept.keys()].find((key) => key.endsWith(":saved")) ?? "");
  expect(one().saved.map((each) => each.name)).toEqual(["b", "c"]);
  one().clearHistory();
  other().hear(null);
  expect(other().history).toEqual([]);
  other().hear("of somebody else");
  expect(other().saved).toHaveLength(2);
});

test("what the browser has no room for stays in the tab", async () => {
  const one = await openTab();
  one().save(query("a"));
  local.hasRoom = false;
  one().save(query("b"));
  expect(one().full).toBe(true);
  one().hear(null);
  one().save(query("c"));
  expect(one().saved.map((each) => each.name)).toEqual(["a", "b", "c"]);
  local.hasRoom = true;
  one().forget("a");
  expect(one().full).toBe(false);
  expect((await openTab())().saved.map((each) => each.name)).toEqual(["b", "c"]);
});

test("what one has written is not there for somebody else in the same tab", async () => {
  const tab = await openTab();
  tab().write({ text: "RETURN 'mine'" });
  tab().save(query("mine"));
  tab().remember("RETURN 1", "", OUTCOME);
  for (const keeper of [
    { ...ADA, subject: "rob" },
    { ...ADA, subject: null },
    { ...ADA, graphId: "another" },
  ]) {
    tab().open(keeper);
    expect(tab()).toMatchObject({ text: "", saved: [], history: [] });
  }
  tab().open(ADA);
  expect(tab()).toMatchObject({ text: "RETURN 'mine'", saved: [query("mine")] });
  expect(tab().history).toHaveLength(1);
});
