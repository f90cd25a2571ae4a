import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { ApiError } from "../api/errors";
import { Http, type Call } from "../api/http";
import type { Json } from "../api/types";
import { readChange } from "./changes";
import { addTelemetry, LIT, takeChanges, useLive } from "./store";
import { follow, type LiveState } from "./stream";

describe("events tell", () => {
  const event = (type: string, subject: string | undefined, data: Json, source = "host") =>
    readChange({ type, source, time: "2026-01-01T00:00:00Z", data, ...(subject && { subject }) });

  test("of twins and what of them has changed", () => {
    const patch = [
      { op: "replace", path: "/climate/temperature", value: 1 },
      { op: "remove", path: "/name" },
    ];
    expect(event("Microsoft.DigitalTwins.Twin.Update", "a b", { modelId: "m", patch })).toEqual({
      kind: "twin",
      verb: "update",
      id: "a b",
      paths: ["/climate/temperature", "/name"],
      time: "2026-01-01T00:00:00Z",
    });
  });

  test("of relationships, models and telemetry", () => {
    const subject = "room1/relationships/r1";
    const target = { $targetId: "room2" };
    expect(event("Microsoft.DigitalTwins.Relationship.Delete", subject, target)).toMatchObject({
      kind: "relationship",
      verb: "delete",
      sourceId: "room1",
      id: "r1",
      targetId: "room2",
    });
    expect(event("Twinframe.Model.Decommission", "dtmi:x:A;1", {})).toMatchObject({
      kind: "model",
      verb: "update",
    });
    const source = "host/digitaltwins/a%20b";
    expect(event("microsoft.iot.telemetry", "climate", { t: 1 }, source)).toMatchObject({
      kind: "telemetry",
      id: "a b",
      component: "climate",
      values: { t: 1 },
    });
  });

  test("nothing where they are of something else", () => {
    expect(event("Some.Other.Thing", "a", {})).toBeNull();
    fc.assert(fc.property(fc.jsonValue(), (value) => void readChange(value as Json)));
  });
});

describe("what has changed", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.useRealTimers();
    useLive.setState(useLive.getInitialState());
  });

  test("is lit for a while, longer where it changes again", () => {
    const change = { kind: "twin", verb: "update", id: "a", time: "" } as const;
    takeChanges([{ ...change, paths: ["/x"] }]);
    vi.advanceTimersByTime(LIT / 2);
    takeChanges([{ ...change, paths: ["/y"] }]);
    expect(useLive.getState().lit.get("a")).toEqual(new Set(["/x", "/y"]));
    vi.advanceTimersByTime(LIT / 2 + 100);
    expect(useLive.getState().lit.has("a")).toBe(true);
    vi.advanceTimersByTime(LIT);
    expect(useLive.getState().lit.size).toBe(0);
  });

  test("stands in the order in which it was measured, whenever it comes", () => {
    const told = { kind: "telemetry", id: "a", component: null } as const;
    let kept = useLive.getState().telemetry;
    for (const second of [3, 1, 4, 2]) {
      const time = `2026-01-01T00:00:0${second}Z`;
      kept = addTelemetry(kept, { ...told, time, values: { v: second * 10 } });
    }
    const series = kept.get("a")?.get("/v");
    expect(series?.values).toEqual([10, 20, 30, 40]);
    expect(series?.times).toEqual(series?.times.toSorted((one, other) => one - other));
  });

  test("keeps the numbers of telemetry, as many as there is room for", () => {
    const told = {
      kind: "telemetry",
      id: "a",
      component: null,
      time: "2026-01-01T00:00:00Z",
    } as const;
    let kept = useLive.getState().telemetry;
    for (let at = 0; at < 700; at++) {
      kept = addTelemetry(kept, { ...told, values: { power: at, deep: { on: true }, text: "x" } });
    }
    expect(kept.get("a")?.get("/power")?.values.length).toBe(600);
    expect(kept.get("a")?.get("/power")?.values.at(-1)).toBe(699);
    expect(kept.get("a")?.get("/deep.on")?.values.at(-1)).toBe(1);
    expect(kept.get("a")?.size).toBe(2);
    for (let at = 0; at < 250; at++) {
      kept = addTelemetry(kept, { ...told, id: `b${at}`, values: { v: 1 } });
    }
    expect(kept.size).toBe(200);
    expect(kept.has("b249")).toBe(true);
    expect(kept.has("a")).toBe(false);
  });
});

describe("the stream", () => {
  const PATIENCE = 45_000;
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Answers one call after the other; the call after the last ends it. */
  function play(answers: (string | ApiError | ((call: Call) => ReadableStream))[]) {
    const http = new Http("", () => Promise.resolve(null));
    const stopping = new AbortController();
    const calls: Call[] = [];
    const events: Json[] = [];
    const states: LiveState[] = [];
    let gaps = 0;
    vi.spyOn(http, "send").mockImplementation((_path, call = {}) => {
      const answer = answers[calls.length];
      calls.push(call);
      if (answer === undefined) stopping.abort();
      if (answer === undefined || answer instanceof ApiError) return Promise.reject(answer);
      return Promise.resolve(new Response(typeof answer === "string" ? answer : answer(call)));
    });
    const listener = {
      onEvent: (event: Json) => void events.push(event),
      onGap: () => void (gaps += 1),
      onState: (state: LiveState) => void states.push(state),
    };
    const done = follow(http, listener, stopping.signal, PATIENCE).then(() => ({
      headers: calls.map((call) => call.headers?.["Last-Event-ID"] ?? null),
      events,
      states,
      gaps,
    }));
    return vi.runAllTimersAsync().then(() => done);
  }

  test("goes on behind the last event after a cut, however it was cut", async () => {
    const seen = await play([
      ': hello\nretry: 2000\n\nid: 7\ndata: {"a":1}\n\nid: 8\ndata: {"a":2}\n\nid: 9\ndata: {"cut',
      new ApiError(0, "NoAnswer", "gone"),
      new ApiError(503, "StorageBusy", "busy"),
      'id: 9\ndata: {"a":3}\n\n',
    ]);
    expect(seen.events).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }]);
    expect(seen.headers).toEqual([null, "8", "8", "8", "9"]);
  });

  test("tells of a gap after a cut before the first event, as no id says where to go on", async () => {
    const seen = await play([": hello\n\n", 'data: {"a":1}\n\n']);
    expect(seen).toMatchObject({ gaps: 1, events: [{ a: 1 }], headers: [null, null, null] });
  });

  test("tells of a gap", async () => {
    const seen = await play(['event: gap\nid: 50\ndata: {"missed":3}\n\n']);
    expect(seen).toMatchObject({ gaps: 1, events: [], headers: [null, "50"] });
  });

  /** What stays open as long as nobody aborts it, and says these parts so far apart. */
  const open =
    (every: number, ...parts: string[]) =>
    ({ signal }: Call): ReadableStream =>
      new ReadableStream({
        async start(stream) {
          signal?.addEventListener("abort", () => stream.error(signal.reason));
          for (const part of parts) {
            stream.enqueue(new TextEncoder().encode(part));
            await new Promise((done) => setTimeout(done, every));
          }
        },
      });

  test("is begun anew behind the last event where not even heartbeats come", async () => {
    const seen = await play([
      open(1000, 'id: 3\ndata: {"a":1}\n\n'),
      open(0.9 * PATIENCE, ": alive\n\n", ": alive\n\n", 'id: 4\ndata: {"a":2}\n\n'),
    ]);
    expect(seen.headers).toEqual([null, "3", "4"]);
    expect(seen.events).toEqual([{ a: 1 }, { a: 2 }]);
    expect(seen.states).toEqual([
      ...["connecting", "live"],
      ...["connecting", "live"],
      "connecting",
    ]);
  });

  test("ends where it is refused", async () => {
    const seen = await play([new ApiError(403, "Forbidden", "You may not.")]);
    expect(seen.states).toEqual(["connecting", "refused"]);
    expect(seen.headers).toEqual([null]);
  });
});
