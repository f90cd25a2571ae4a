import { describe, expect, test } from "vitest";

import type { JsonObject } from "../api/types";
import { PLAIN } from "../picture/style";
import { renderWorkspaceId, readWorkspaceId } from "./address";
import { readPicture, renderPicture, writeEssence, type PictureContent } from "./content";

const PICTURE: PictureContent = {
  query: "MATCH (n) RETURN n",
  parameters: { level: "b1" },
  draft: { text: "MATCH", parameters: "{" },
  view: "graph",
  layout: "layers",
  overlays: true,
  highlights: true,
  twins: [
    { id: "a", x: 1.23456, y: -2, pinned: true },
    { id: "b", x: null, y: null, pinned: false },
    { id: "c", x: 10, y: 20, pinned: false },
  ],
  removed: ["d"],
  hiding: {
    filter: "area>20",
    facets: [
      { property: "mode", kind: "values", values: ["auto"] },
      { property: "area", kind: "range", from: 1, to: null },
    ],
    models: new Set(["dtmi:x:Room;1"]),
    names: new Set(["feeds"]),
    ids: new Set(["e"]),
    focus: new Set(["a"]),
    draft: null,
  },
  style: { ...PLAIN, models: { "dtmi:x:Room;1": { color: "#aa3377" } } },
};

describe("the content of a picture", () => {
  test("is read as it was written, places to a hundredth", () => {
    const read = readPicture(JSON.parse(JSON.stringify(renderPicture(PICTURE))) as JsonObject);
    const [first, ...others] = PICTURE.twins;
    expect(read).toEqual({ ...PICTURE, twins: [{ ...first, x: 1.23 }, ...others] });
  });

  test("is that of a new picture where nothing is said", () => {
    expect(readPicture({ kind: "picture", version: 1 })).toMatchObject({
      query: "",
      view: "table",
      layout: "force",
      twins: [],
      style: PLAIN,
    });
  });

  test.each([
    [{ query: 3 }, "`query` has to be a text; it is 3"],
    [{ parameters: [] }, "`parameters` has to be an object; it is []"],
    [{ view: "plan" }, "`view` has to be one of table, json, graph"],
    [{ twins: {} }, "`twins` has to be a list"],
    [{ twins: [["a"], ["b", 1]] }, "`twins[1]` has to be a list of id, x, y"],
    [{ removed: [1] }, "`removed[0]` has to be a text; it is 1"],
    [{ filters: { models: [null] } }, "`filters.models[0]` has to be a text; it is null"],
    [{ filters: { facets: [{ property: "a", kind: "x" }] } }, "`filters.facets[0]` has to be of"],
    [{ filters: { facets: ["a"] } }, "`filters.facets[0]` has to be an object"],
    [{ draft: "x" }, "`draft` has to be an object"],
  ] as [JsonObject, string][])("says where %j is wrong", (content, said) => {
    expect(() => readPicture(content)).toThrow(said);
  });
});

describe("what is not saved", () => {
  const essence = (part: Partial<PictureContent>, isGone?: (id: string) => boolean): string =>
    writeEssence({ ...PICTURE, ...part }, isGone);

  test("is told by pins, twins, style and filters, not by where a layout put a twin", () => {
    const [first, second, third] = PICTURE.twins as [never, never, never];
    const move = (by: number) => ({ id: "c", x: by, y: 0, pinned: false });
    expect(essence({ twins: [move(9), second, first] })).toBe(essence({}));
    expect(essence({ view: "table" })).toBe(essence({}));
    const pinned = { id: "c", x: 10, y: 20, pinned: true };
    expect(essence({ twins: [first, second, pinned] })).not.toBe(essence({}));
    expect(essence({ twins: [first, third] })).not.toBe(essence({}));
    expect(essence({ style: PLAIN })).not.toBe(essence({}));
    expect(essence({ hiding: { ...PICTURE.hiding, facets: [] } })).not.toBe(essence({}));
  });

  test("is not what others have deleted meanwhile", () => {
    const twins = PICTURE.twins.filter(({ id }) => id !== "c");
    expect(essence({ twins })).toBe(essence({}, (id) => id === "c"));
  });
});

test("an address names a workspace beside all else that it says", () => {
  expect(renderWorkspaceId("?twin=a%20b", "north")).toBe("?twin=a+b&workspace=north");
  expect(renderWorkspaceId("?workspace=x&twin=a", null)).toBe("?twin=a");
  expect(renderWorkspaceId("?workspace=x", null)).toBe("");
  expect([
    readWorkspaceId("?workspace=x"),
    readWorkspaceId("?workspace="),
    readWorkspaceId(""),
  ]).toEqual(["x", null, null]);
});
