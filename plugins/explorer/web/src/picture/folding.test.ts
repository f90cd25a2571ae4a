import { describe, expect, test } from "vitest";

import type { Relationship, Twin } from "../api/types";
import { foldContents, listAround, MOST_UNFOLDED } from "./folding";
import { buildCampus } from "./layout/sampleGraphs";
import { addTo, EMPTY, type Contents } from "./model";

const CONTAINMENT = [
  { name: "contains", direction: "down" },
  { name: "locatedIn", direction: "up" },
] as const;

function buildContents(nodes: readonly string[], links: readonly [string, string, string][]) {
  const twins = nodes.map((id): Twin => {
    return { $dtId: id, $etag: 'W/"1"', $metadata: { $model: "dtmi:com:example:Thing;1" } };
  });
  const relationships = links.map(([source, name, target]): Relationship => {
    const id = `${name}-${target}`;
    const ends = { $sourceId: source, $targetId: target };
    return { ...ends, $relationshipId: id, $relationshipName: name, $etag: 'W/"1"' };
  });
  return addTo(EMPTY, twins, relationships);
}

function fold(contents: Contents, opened: readonly [string, boolean][] = []) {
  const { nodes, edges } = contents;
  const visible = { nodes: new Set(nodes.keys()), edges: new Set(edges.keys()) };
  return foldContents(contents, visible, CONTAINMENT, new Map(opened));
}

function buildBuilding(): Contents {
  const { nodes, links } = buildCampus({ buildings: 1, levels: 36, rooms: 30 });
  return buildContents(
    nodes,
    links.map(({ source, name, target }) => [source, name, target]),
  );
}

describe("a picture of too many twins", () => {
  const building = buildBuilding();

  test("draws the levels of a building for what is on them", () => {
    expect(building.nodes.size).toBeGreaterThan(MOST_UNFOLDED);
    const { contents, visible, within } = fold(building);
    const ids = [...contents.nodes.keys()];
    expect(ids).toContain("b1");
    expect(ids.filter((id) => /^b1-l\d+$/.test(id))).toHaveLength(36);
    expect(ids.length).toBeLessThan(400);
    expect(visible.nodes).toEqual(new Set(ids));
    // A level stands for its unit and its rooms with what is in them.
    expect(within.get("b1-l2")).toBe(142);
    const all = [...within.values()].reduce((sum, one) => sum + one, ids.length);
    expect(all).toBe(building.nodes.size);
  });

  test("draws a relationship to what is not drawn to what stands for it, once", () => {
    const { contents } = fold(building);
    const drawn = [...contents.edges.values()].map(
      (one) => `${one.$sourceId} ${one.$relationshipName} ${one.$targetId}`,
    );
    // The chiller feeds the unit of each level.
    expect(drawn).toContain("b1-chiller feeds b1-l2");
    expect(new Set(drawn).size).toBe(drawn.length);
    for (const one of contents.edges.values()) {
      expect(contents.nodes.has(one.$sourceId) && contents.nodes.has(one.$targetId)).toBe(true);
    }
  });

  test("opens what was opened, and folds what was folded", () => {
    const { contents, within, open } = fold(building, [["b1-l2", true]]);
    expect(contents.nodes.has("b1-l2-r7")).toBe(true);
    expect(within.has("b1-l2")).toBe(false);
    expect(within.get("b1-l3")).toBe(142);
    expect(open.has("b1-l2")).toBe(true);
    const again = fold(building, [["b1", false]]);
    expect(again.contents.nodes.has("b1-l2")).toBe(false);
    expect(again.within.get("b1")).toBe(building.nodes.size - 2);
  });

  test("tells what to open so that a twin is drawn itself", () => {
    const folding = fold(building);
    const around = listAround(folding, ["b1-l2-r7-t", "b1"]);
    expect(around).toEqual(["b1-l2-r7", "b1-l2"]);
    const opened = fold(
      building,
      around.map((id) => [id, true]),
    );
    expect(opened.contents.nodes.has("b1-l2-r7-t")).toBe(true);
  });

  test("ends where things contain each other in a circle", () => {
    const circle = buildContents(
      ["a", "b", "c"],
      [
        ["a", "contains", "b"],
        ["b", "contains", "c"],
        ["c", "contains", "a"],
      ],
    );
    const { contents } = fold(circle);
    expect(contents.nodes.size).toBe(3);
    expect(contents.edges.size).toBe(3);
  });
});
