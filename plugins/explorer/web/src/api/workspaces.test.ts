import { afterEach, describe, expect, test, vi } from "vitest";

import { Http } from "./http";
import { readContent, Workspaces, type Workspace } from "./workspaces";

const HEAD = {
  id: "wing",
  name: "Wing",
  kind: "picture",
  etag: 'W/"1"',
  createdTime: "2026-11-24T10:00:00Z",
  createdBy: "ann",
  lastUpdateTime: "2026-11-24T10:00:00Z",
  lastUpdateBy: "bob",
};
const calls: { url: string; init: RequestInit }[] = [];

function at<One>(list: readonly One[], index: number): One {
  const found = list[index];
  if (found === undefined) throw new Error(`There is nothing at ${index}`);
  return found;
}

function answer(...answers: [number, object][]): Workspaces {
  calls.length = 0;
  vi.stubGlobal("window", { location: { href: "https://x.example/explorer/" } });
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    calls.push({ url, init });
    const [status, body] = at(answers, Math.min(calls.length, answers.length) - 1);
    return Promise.resolve(new Response(JSON.stringify(body), { status }));
  });
  return new Workspaces(new Http("/api", () => Promise.resolve(null)));
}

function headersOf(call: number): Headers {
  return at(calls, call).init.headers as Headers;
}

const TAKEN = { error: { code: "PreconditionFailed", message: "There is one." } };
const CONTENT = { kind: "picture", version: 1 };

afterEach(() => vi.unstubAllGlobals());

describe("the client of workspaces", () => {
  test("lists all pages, and those of one kind", async () => {
    const other = { ...HEAD, id: "board", kind: "dashboard" };
    const next = "https://public.example/api/workspaces?continuationToken=a%2Fb";
    const spaces = answer(
      [200, { value: [HEAD], nextLink: next }],
      [200, { value: [other], nextLink: null }],
    );
    expect((await spaces.list("dashboard")).map((one) => one.id)).toEqual(["board"]);
    expect(calls.map((one) => one.url)).toEqual([
      "/api/workspaces",
      "/api/workspaces?continuationToken=a%2Fb",
    ]);
  });

  test("makes an id of the name, and another where that is taken", async () => {
    const spaces = answer([412, TAKEN], [200, { ...HEAD, content: CONTENT }]);
    await spaces.create("Étage 2 · Nord!", CONTENT);
    expect(at(calls, 0).url).toBe("/api/workspaces/etage-2-nord");
    expect(at(calls, 1).url).toMatch(/^\/api\/workspaces\/etage-2-nord-[0-9a-f]{8}$/);
    expect(headersOf(1).get("If-None-Match")).toBe("*");
    expect(at(calls, 1).init.body).toBe(
      JSON.stringify({ name: "Étage 2 · Nord!", content: CONTENT }),
    );
  });

  test("finds an id for a name of no letters that an id may have", async () => {
    const spaces = answer([200, { ...HEAD, content: CONTENT }]);
    await spaces.create("北翼", CONTENT);
    expect(at(calls, 0).url).toBe("/api/workspaces/workspace");
  });

  test("replaces and deletes only what was read", async () => {
    const spaces = answer([412, TAKEN]);
    await expect(spaces.replace("wing", "Wing", CONTENT, HEAD.etag)).rejects.toMatchObject({
      isConflict: true,
    });
    await expect(spaces.delete("a/b", HEAD.etag)).rejects.toMatchObject({ status: 412 });
    expect(headersOf(0).get("If-Match")).toBe(HEAD.etag);
    expect([at(calls, 1).url, headersOf(1).get("If-Match")]).toEqual([
      "/api/workspaces/a%2Fb",
      HEAD.etag,
    ]);
  });

  test("finds none where there is none, and fails with every other error", async () => {
    const missing = { error: { code: "WorkspaceNotFound", message: "There is none." } };
    expect(await answer([404, missing]).find("x")).toBeNull();
    const refused = { error: { code: "Forbidden", message: "No." } };
    await expect(answer([403, refused]).find("x")).rejects.toMatchObject({ status: 403 });
  });
});

describe("the content of a workspace", () => {
  const told = (content: Workspace["content"]): string => {
    try {
      readContent({ ...HEAD, content }, "picture");
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };

  test("is taken where it is of the wanted kind and of a known version", () => {
    expect(readContent({ ...HEAD, content: CONTENT }, "picture")).toBe(CONTENT);
  });

  test("is refused where it is another's, with what it is", () => {
    expect(told({ kind: "dashboard", version: 1 })).toContain("«Wing» is a dashboard");
    expect(told({ kind: "invoice", version: 1 })).toContain("by another page, as “invoice”");
    expect(told({ kind: "constructor" })).toContain("by another page, as “constructor”");
    expect(told({})).toContain("does not say as what");
  });

  test("is refused where a newer page wrote it, or where it has no version", () => {
    expect(told({ kind: "picture", version: 2 })).toContain("newer version of this page");
    for (const version of [undefined, null, "1", 0, 1.5]) {
      const content = version === undefined ? { kind: "picture" } : { kind: "picture", version };
      expect(told(content)).toContain("no `version`");
    }
  });
});
