import { describe, expect, test } from "vitest";

import type { Json, ModelEntry } from "../../api/types";
import { listCurves } from "../../picture/curves";
import { edgeKey } from "../../picture/model";
import { renderModels } from "../DownloadModels";
import { ModelIndex } from "../index";
import { buildContents, kindOf, listTies, listVisible } from "./ties";

function dtmi(name: string): string {
  return `dtmi:com:example:${name};1`;
}

function entry(name: string, bases: string[], contents: Json[]): ModelEntry {
  return {
    id: dtmi(name),
    uploadTime: "2026-01-01T00:00:00Z",
    decommissioned: false,
    model: {
      "@context": "dtmi:dtdl:context;3",
      "@id": dtmi(name),
      "@type": "Interface",
      ...(bases.length > 0 ? { extends: bases.map(dtmi) } : {}),
      contents,
    },
  };
}

function leads(name: string, target?: string): Json {
  return { "@type": "Relationship", name, ...(target === undefined ? {} : { target }) };
}

const INDEX = new ModelIndex([
  entry("Space", [], [leads("contains", dtmi("Space")), leads("hasDocument")]),
  entry(
    "Room",
    ["Space", "Gone"],
    [
      leads("adjacentTo", dtmi("Room")),
      leads("partOf", dtmi("Space")),
      leads("within", dtmi("Space")),
      leads("servedBy", dtmi("Gone")),
      { "@type": "Component", name: "climate", schema: dtmi("Climate") },
      { "@type": "Component", name: "light", schema: { "@id": dtmi("Climate") } },
      { "@type": "Property", name: "area", schema: "double" },
    ],
  ),
  entry("Climate", [], []),
]);
const TIES = listTies(INDEX);
const CONTENTS = buildContents(INDEX, TIES);
const NONE_HIDDEN = new Set<never>();

function key(source: string, kind: string, target: string): string {
  return edgeKey(dtmi(source), `${kind}\n${dtmi(target)}`);
}

describe("ties of models", () => {
  test("are what the documents say, each at the model that says it", () => {
    const told = TIES.map(({ kind, source, target, name }) =>
      [kind, INDEX.label(source), name, target === null ? "any" : INDEX.label(target)].join(" "),
    );
    expect(told).toEqual([
      "relationship Space contains Space",
      "relationship Space hasDocument any",
      "extends Room  Space",
      "extends Room  Gone",
      "relationship Room adjacentTo Room",
      "relationship Room partOf Space",
      "relationship Room within Space",
      "relationship Room servedBy Gone",
      "component Room climate Climate",
      "component Room light Climate",
    ]);
  });

  test("of one kind between the same two are one edge, those of other kinds another", () => {
    const edges = [...CONTENTS.edges].map(([at, one]) => [at, kindOf(one), one.$relationshipName]);
    expect(edges).toEqual([
      [key("Space", "relationship", "Space"), "relationship", "contains"],
      [key("Room", "extends", "Space"), "extends", "extends"],
      [key("Room", "relationship", "Room"), "relationship", "adjacentTo"],
      [key("Room", "relationship", "Space"), "relationship", "partOf, within"],
      [key("Room", "component", "Climate"), "component", "climate, light"],
    ]);
  });

  test("to any model or to one that is not stored are no edges, and make no nodes", () => {
    expect([...CONTENTS.nodes.keys()]).toEqual(["Space", "Room", "Climate"].map(dtmi));
  });

  test("are seen by kind", () => {
    const { nodes, edges } = listVisible(CONTENTS, null, new Set(["relationship", "component"]));
    expect(nodes.size).toBe(3);
    expect([...edges]).toEqual([key("Room", "extends", "Space")]);
  });

  test("of what was found are seen with their other end, and no others", () => {
    const { nodes, edges } = listVisible(CONTENTS, new Set([dtmi("Climate")]), NONE_HIDDEN);
    expect([...nodes].sort()).toEqual([dtmi("Climate"), dtmi("Room")]);
    expect([...edges]).toEqual([key("Room", "component", "Climate")]);
  });

  test("that are hidden bring nobody along", () => {
    const { nodes } = listVisible(CONTENTS, new Set([dtmi("Climate")]), new Set(["component"]));
    expect([...nodes]).toEqual([dtmi("Climate")]);
  });

  test("by which one extends are straight, and others bend around them", () => {
    const edges = new Map([...CONTENTS.edges].filter(([, one]) => one.$sourceId === dtmi("Room")));
    const curves = listCurves(edges, (one) => kindOf(one) === "extends");
    expect([...curves.keys()]).toEqual([key("Room", "relationship", "Space")]);
    expect(listCurves(edges).size).toBe(2);
  });
});

test("all models are one array of their documents as they were stored", () => {
  const documents = JSON.parse(renderModels(INDEX)) as Json[];
  expect(documents).toEqual([...INDEX.interfaces.values()].map((one) => one.document));
  expect(documents).toHaveLength(3);
});
