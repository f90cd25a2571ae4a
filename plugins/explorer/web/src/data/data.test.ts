import { expect, test } from "vitest";

import { readRefused, type ImportJob } from "../api/transfer";
import { EXAMPLES, parseFilterProblem } from "./filters";
import { tellValue } from "./HistoryPanel";
import { nameJob, nameUpload } from "./importing";
import { LineCounter } from "./lineCounter";
import { rateOf, tellBytes, tellCounts, tellReplaced } from "./numbers";

const FILE = [
  '{"Section":"Header"}',
  '{"fileVersion":"1.0.0"}',
  '{"Section": "Models"}',
  '{"@id":"dtmi:a;1"}',
  '{"Section":"Twins"}',
  '{"$dtId":"ä","note":"{\\"Section\\":\\"Models\\"}"}',
  `{"$dtId":"b","long":"${"x".repeat(500)}"}`,
  '{"Section":"Relationships"}',
  "",
].join("\n");

test("lines are counted by section, wherever the pieces are cut", () => {
  const bytes = new TextEncoder().encode(FILE);
  for (const size of [1, 2, 7, 64, bytes.length]) {
    const counter = new LineCounter();
    for (let at = 0; at < bytes.length; at += size) counter.take(bytes.subarray(at, at + size));
    expect(counter.counted).toEqual({ Header: 1, Models: 1, Twins: 2 });
    expect(counter.bytes).toBe(bytes.length);
  }
});

test("the refused lines of a log say what was wrong with each", () => {
  const entry = (logType: string, details: object): string =>
    JSON.stringify({ timestamp: "t", jobId: "j", jobType: "Import", logType, details });
  const log = [
    entry("Info", { status: "Started" }),
    entry("Error", {
      section: "Twins",
      line: 12,
      id: "b",
      error: { code: "ValidationFailed", message: "1 error", details: [{ message: "No text" }] },
    }),
    entry("Error", { section: "Twins", line: 13, error: { message: "It is no JSON." } }),
    entry("Error", { status: "Failed", error: { message: "2 lines were refused" } }),
    "",
  ].join("\n");
  const { lines, count } = readRefused(log, 1);
  expect(count).toBe(2);
  expect(lines).toEqual([{ where: 12, section: "Twins", id: "b", message: "No text" }]);
  expect(readRefused(log, 9).lines[1]).toEqual({
    where: 13,
    section: "Twins",
    id: null,
    message: "It is no JSON.",
  });
  const path = "digitalTwinsGraph.digitalTwins[13]";
  const other = entry("Error", { section: "Twins", path, id: "c", error: { message: "No." } });
  expect(readRefused(other, 9)).toMatchObject({ lines: [{ where: path, id: "c" }], count: 1 });
});

test("a job is named by its file and its time", () => {
  const at = new Date("2026-11-24T15:04:05Z");
  expect(nameJob("My campus (1).ndjson.gz", at)).toBe("My-campus-1-20261124-150405");
  expect(nameJob(".gz", at)).toBe("graph-20261124-150405");
});

test("an upload has the same name for the same file alone", () => {
  const file = { name: "a.ndjson", size: 10, lastModified: 5 };
  expect(nameUpload(file)).toBe(nameUpload({ ...file }));
  expect(nameUpload(file)).toMatch(/^file-[0-9a-f]{1,16}$/);
  for (const other of [{ name: "b.ndjson" }, { size: 11 }, { lastModified: 6 }]) {
    expect(nameUpload({ ...file, ...other })).not.toBe(nameUpload(file));
  }
});

test("a refused filter says where it is wrong", () => {
  const text = "Parsing error, Line=2, Position=5, Message=Unexpected input 'is', expected one of";
  expect(parseFilterProblem(text)).toEqual({
    line: 2,
    position: 5,
    message: "Unexpected input 'is', expected one of",
  });
  expect(parseFilterProblem("There are 100 event routes")).toBeNull();
  expect(new Set(EXAMPLES.map((one) => one.filter)).size).toBe(EXAMPLES.length);
});

test("numbers are told in words", () => {
  expect(tellBytes(12)).toBe("12 bytes");
  expect(tellBytes(1536)).toBe("1.5 KiB");
  expect(tellBytes(1 << 30)).toBe("1 GiB");
  expect(tellCounts([])).toBe("nothing");
  expect(
    tellCounts([
      [1, "models"],
      [0, "twins"],
    ]),
  ).toBe("1 model");
  expect(
    tellCounts([
      [1, "models"],
      [2, "twins"],
      [3, "relationships"],
    ]),
  ).toBe("1 model, 2 twins and 3 relationships");
  expect(tellValue("History__KeepBytes", 1_073_741_824)).toBe("1073741824 (1 GiB)");
  expect(tellValue("History__Telemetry", [])).toBe("[]");
});

test("a rate is told once there is enough to say", () => {
  const job = {
    createdDateTime: "2026-11-24T15:00:00Z",
    lastActionDateTime: "2026-11-24T15:00:02Z",
    twinsCreated: 300,
    relationshipsCreated: 100,
    changesCreated: 0,
  } as ImportJob;
  expect(rateOf(job)).toBe(200);
  expect(rateOf({ ...job, lastActionDateTime: "2026-11-24T15:00:00.1Z" })).toBeNull();
  expect(rateOf({ ...job, twinsCreated: 0, relationshipsCreated: 0 })).toBeNull();
});

test("an import says how many of its twins are new", () => {
  const told = (twinsCreated: number, twinsReplaced: number) =>
    tellReplaced({ twinsCreated, twinsReplaced } as ImportJob);
  expect(told(0, 0)).toBe("");
  expect(told(3, 0)).toBe("All twins are new.");
  expect(told(3, 3)).toBe("All twins replaced those of the same ids.");
  expect(told(1500, 1)).toBe("1,499 of the twins are new, 1 replaced those of the same ids.");
});
