import { expect, test } from "vitest";

import type { Relationship, Twin } from "../api/types";
import {
  buildGraphFile,
  checkGraphSize,
  isGraphText,
  isPictureText,
  MOST_GRAPH_BYTES,
  readGraphLines,
  renderPlainRelationship,
  renderPlainTwin,
} from "./graphFile";

const TWIN: Twin = {
  $dtId: "ä",
  $etag: "1",
  $metadata: {
    $model: "dtmi:x:Room;1",
    $lastUpdateTime: "2026-01-01T00:00:00Z",
    area: { lastUpdateTime: "2026-01-01T00:00:00Z", sourceTime: "2025-12-31T00:00:00Z" },
    name: { lastUpdateTime: "2026-01-01T00:00:00Z" },
  },
  area: 9007199254740993n,
  fan: { $metadata: { speed: { lastUpdateTime: "2026-01-01T00:00:00Z" } }, speed: 2 },
  seats: { left: 1 },
};
const EDGE: Relationship = {
  $relationshipId: "e",
  $relationshipName: "has",
  $sourceId: "ä",
  $targetId: "b",
  $etag: "1",
  since: "2026",
};

test("documents of a graph file have neither ETags nor times, save those of the source", () => {
  expect(renderPlainTwin(TWIN)).toBe(
    '{"$dtId":"ä","$metadata":{"$model":"dtmi:x:Room;1",' +
      '"area":{"sourceTime":"2025-12-31T00:00:00Z"}},"area":9007199254740993,' +
      '"fan":{"$metadata":{},"speed":2},"seats":{"left":1}}',
  );
  expect(JSON.parse(renderPlainRelationship(EDGE))).toEqual({
    $relationshipId: "e",
    $relationshipName: "has",
    $sourceId: "ä",
    $targetId: "b",
    since: "2026",
  });
});

test("a graph file has the members that the vendor’s explorer reads", async () => {
  const file = buildGraphFile({ models: ['{"@id":"m"}'], twins: ["1", "2"], relationships: [] });
  expect(JSON.parse(await file.text())).toEqual({
    digitalTwinsFileInfo: { fileVersion: "1.0.0" },
    digitalTwinsGraph: { digitalTwins: [1, 2], relationships: [] },
    digitalTwinsModels: [{ "@id": "m" }],
  });
});

test("a graph file is no larger than an import takes", () => {
  expect(() => checkGraphSize(MOST_GRAPH_BYTES)).not.toThrow();
  const half = `"${"ä".repeat(MOST_GRAPH_BYTES / 4)}"`;
  const parts = { models: [], twins: [half, half], relationships: [] };
  expect(() => buildGraphFile(parts)).toThrow(/at most 32 MiB/);
});

test("the lines of an export become a graph file, number by number", () => {
  const lines = [
    '{"Section":"Header"}',
    '{"fileVersion":"1.0.0"}',
    '{"Section":"Models"}',
    '{"@id":"dtmi:x:Room;1"}',
    '{"Section":"Twins"}',
    '{"$dtId":"a","big":9007199254740993,"at":1.0}',
    '{"Section":"Relationships"}',
    '{"$dtId":"a","$relationshipId":"e","$targetId":"b","$relationshipName":"has","w":9007199254740993}',
    "",
  ];
  expect(readGraphLines(lines.join("\n"))).toEqual({
    models: ['{"@id":"dtmi:x:Room;1"}'],
    twins: ['{"$dtId":"a","big":9007199254740993,"at":1.0}'],
    relationships: [
      '{"$sourceId":"a","$relationshipId":"e","$targetId":"b","$relationshipName":"has","w":9007199254740993}',
    ],
  });
});

test("a graph is told from a picture by how it begins", () => {
  const graphs = [
    '{"Section": "Header"}\n{"fileVersion"',
    '{\n  "digitalTwinsFileInfo": {',
    ' {"digitalTwinsModels":[',
  ];
  for (const text of graphs)
    expect([isGraphText(text), isPictureText(text)]).toEqual([true, false]);
  const picture = '{\n "nodes": [\n  {"id": "a"';
  expect([isGraphText(picture), isPictureText(picture)]).toEqual([false, true]);
  for (const text of ["", "[]", '{"a": "digitalTwinsGraph"}', '{"nodesOf": 1}']) {
    expect([isGraphText(text), isPictureText(text)]).toEqual([false, false]);
  }
});
