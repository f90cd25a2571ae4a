import { afterEach, expect, test, vi } from "vitest";

import { Http } from "../api/http";
import { forgetOthers, keepFor, refusalsOf, tokensFor, WrongAudience } from "./audiences";
import { forgetTokens, keepTokens, useCredentials } from "./credentials";
import { Authority, type Tokens } from "./oauth";

const GRAPH = "https://twins.example";
const CONTROL = "https://control.example";
const RECIPIENT = { name: "The control plane", audience: CONTROL };
const AUTHORITY = new Authority(
  { authority: "https://id.example", clientId: "page", scopes: [], audience: CONTROL },
  "https://twins.example/explorer/signed-in",
);

function tokenFor(aud: string | string[], exp = Date.now() / 1000 + 600): string {
  return `e30.${btoa(JSON.stringify({ aud, exp, sub: "ada" }))}.sealed`;
}

function tokens(access: string): Tokens {
  return { access, expires: null, refresh: null, user: "ada" };
}

/** A control plane that takes tokens for these audiences; what it was sent. */
function serve(...taken: string[]): string[] {
  const sent: string[] = [];
  vi.stubGlobal("fetch", (_url: string, init?: RequestInit) => {
    const token = new Headers(init?.headers).get("Authorization")?.slice("Bearer ".length) ?? "";
    sent.push(token);
    const { aud } = JSON.parse(atob(token.split(".")[1] ?? "")) as { aud: string | string[] };
    const isTaken = [aud].flat().some((one) => taken.includes(one));
    return Promise.resolve(isTaken ? Response.json({}) : new Response("no", { status: 401 }));
  });
  return sent;
}

const control = new Http("https://x.example", tokensFor(RECIPIENT), refusalsOf(RECIPIENT));

afterEach(() => {
  forgetTokens();
  forgetOthers();
  vi.unstubAllGlobals();
  useCredentials.setState(useCredentials.getInitialState());
});

test("a token for somebody else is told to be that, is not sent again, and ends no session", async () => {
  const sent = serve(CONTROL);
  keepTokens(tokens(tokenFor([GRAPH, "https://other.example"])), null);
  const text = `The control plane asks for a token for the audience ${CONTROL}; yours is for ${GRAPH} and https://other.example.`;
  await expect(control.send("/projects")).rejects.toThrow(text);
  await expect(control.send("/projects")).rejects.toBeInstanceOf(WrongAudience);
  expect(sent).toHaveLength(1);
  expect(useCredentials.getState().phase).toBe("in");
});

test("a token that was got for somebody goes to nobody else", async () => {
  const sent = serve(CONTROL, GRAPH);
  const [own, other] = [tokenFor(GRAPH), tokenFor(CONTROL)];
  keepTokens(tokens(own), null);
  keepFor(CONTROL, tokens(other), AUTHORITY);
  const recipient = { name: "This graph", audience: GRAPH };
  const graph = new Http("https://x.example", tokensFor(recipient), refusalsOf(recipient));
  await control.send("/projects");
  await graph.send("/models");
  expect(sent).toEqual([other, own]);
});

test("a token of somebody that is refused and cannot be renewed is given up, and asked for again", async () => {
  serve();
  keepTokens(tokens(tokenFor(GRAPH)), null);
  await expect(control.send("/projects")).rejects.toBeInstanceOf(WrongAudience);
  keepFor(CONTROL, tokens(tokenFor(CONTROL)), AUTHORITY);
  await expect(control.send("/projects")).rejects.toBeInstanceOf(WrongAudience);
  expect(useCredentials.getState().phase).toBe("in");
});

test("what has ended, and what says nothing of whom it is for, asks to sign in again", async () => {
  serve();
  for (const token of [tokenFor(GRAPH, Date.now() / 1000 - 5), tokenFor([]), tokenFor(CONTROL)]) {
    keepTokens(tokens(token), null);
    await expect(control.send("/projects")).rejects.toThrow("no");
    expect(useCredentials.getState().phase).toBe("expired");
  }
});

test("an authority that gives a token for somebody else is told of it", () => {
  expect(() => keepFor(CONTROL, tokens(tokenFor(GRAPH)), AUTHORITY)).toThrow(
    `a token for ${GRAPH} though one for ${CONTROL} was asked for`,
  );
});
