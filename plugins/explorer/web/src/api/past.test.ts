import { expect, test } from "vitest";

import { Http, type Call } from "./http";
import { PastHttp } from "./past";

const THEN = "2026-03-01T14:05:00.000Z";

class Heard extends Http {
  readonly calls: { path: string; call: Call }[] = [];
  constructor() {
    super("", () => Promise.resolve(null));
  }
  override send(path: string, call: Call = {}): Promise<Response> {
    this.calls.push({ path, call });
    return Promise.resolve(new Response("{}"));
  }
}

async function ask(path: string, call: Call = {}) {
  const heard = new Heard();
  await new PastHttp(heard, THEN).send(path, call);
  return heard.calls[0];
}

test.each([
  ["/digitaltwins/r1", `/digitaltwins/r1?asOf=${encodeURIComponent(THEN)}`],
  [
    "/digitaltwins/r1/relationships?relationshipName=x",
    `/digitaltwins/r1/relationships?relationshipName=x&asOf=${encodeURIComponent(THEN)}`,
  ],
  [
    "/digitaltwins/history/incomingrelationships",
    `/digitaltwins/history/incomingrelationships?asOf=${encodeURIComponent(THEN)}`,
  ],
  [
    "/models?includeModelDefinition=true",
    `/models?includeModelDefinition=true&asOf=${encodeURIComponent(THEN)}`,
  ],
])("a read of %s is of the moment", async (path, dated) => {
  expect((await ask(path))?.path).toBe(dated);
});

test.each([
  "/digitaltwins/r1/history?order=newest",
  "/digitaltwins/r1/series/climate%2Ftemperature?from=x",
  "/digitaltwins/r1/relationships?asOf=17&continuationToken=x",
  "/changes?from=1",
  "/permissions",
  "/events",
])("%s is left as it is", async (path) => {
  expect((await ask(path))?.path).toBe(path);
});

test("a query is of the moment, unless it names one itself", async () => {
  const query = (text: string) => ask("/query", { method: "POST", body: { query: text } });
  expect((await query("MATCH (n) RETURN n"))?.call.body).toEqual({
    query: "MATCH (n) RETURN n",
    asOf: THEN,
  });
  const own = "explain AS OF 5 MATCH (n) RETURN n";
  expect((await query(own))?.call.body).toEqual({ query: own });
});

test("nothing is written", async () => {
  for (const method of ["PUT", "PATCH", "DELETE", "POST"]) {
    await expect(ask("/digitaltwins/r1", { method, body: {} })).rejects.toThrow("Go back to now");
  }
  await expect(ask("/cypher", { method: "POST", body: { query: "x" } })).rejects.toThrow();
});
