import { describe, expect, test } from "vitest";

import type { JsonObject } from "../../api/types";
import { renderBoxes } from "./boxes";
import { buildLooks, listNodes } from "./looks";
import { packScene, readGlb, renderGlb, renderGlbFile } from "./pack";
import { bindParts } from "./parts";
import { cutPieces, MOST_PIECES, PIECE, readScene, renderScene } from "./scene";

const LEVEL = {
  id: "l0",
  isLevel: true,
  parts: [
    { id: "r1", isLevel: false, parts: [] },
    { id: "r2", isLevel: false, parts: [] },
  ],
};
const BOXES = renderBoxes({ id: "b1", isLevel: false, parts: [LEVEL] });

/** The JSON of a GLB. */
function readJson(glb: Uint8Array): JsonObject {
  const length = new DataView(glb.buffer).getUint32(12, true);
  return JSON.parse(new TextDecoder().decode(glb.subarray(20, 20 + length))) as JsonObject;
}

function change(turn: (json: JsonObject) => void): ArrayBuffer {
  const json = readJson(BOXES);
  const length = new DataView(BOXES.buffer).getUint32(12, true);
  turn(json);
  return renderGlbFile(json, BOXES.subarray(28 + length)).buffer;
}

const TRIANGLE = {
  asset: { version: "2.0" },
  nodes: [{ name: "one", mesh: 0 }],
  meshes: [{ primitives: [{ attributes: { POSITION: 0 } }] }],
  accessors: [{ bufferView: 0, componentType: 5126, count: 3, type: "VEC3" }],
  bufferViews: [{ buffer: 0, byteLength: 36 }],
};

function render(json: object): ArrayBuffer {
  return new TextEncoder().encode(JSON.stringify(json)).buffer;
}

describe("a scene is packed", () => {
  test("with its shapes and names, and nothing else", () => {
    const file = change((json) => {
      json["images"] = [{ uri: "https://example.com/brick.png" }];
      json["textures"] = [{ source: 0 }];
      json["materials"] = [{ pbrMetallicRoughness: { baseColorTexture: { index: 0 } } }];
      json["extensionsUsed"] = ["KHR_materials_unlit"];
      json["extensionsRequired"] = ["KHR_materials_unlit"];
      json["animations"] = [{ channels: [], samplers: [] }];
    });
    const { glb, parts } = packScene(file);
    const json = readJson(glb);
    expect(JSON.stringify(json)).not.toContain("example.com");
    for (const name of ["images", "textures", "animations", "extensionsRequired"]) {
      expect(json).not.toHaveProperty(name);
    }
    expect([...parts.parts.keys()].sort()).toEqual(["b1", "l0", "r1", "r2"]);
    expect(parts.parts.get("b1")?.shapes).toBe(3);
    // What is packed can be packed again, as it is when it is read.
    expect(packScene(glb.buffer).glb).toEqual(glb);
  });

  test("without attributes that are not drawn", () => {
    const texture = { attributes: { POSITION: 0, NORMAL: 1, TEXCOORD_0: 1 }, indices: 2 };
    const one = change((json) => (json["meshes"] = [{ primitives: [texture] }]));
    expect(packScene(one).glb.length).toBe(packScene(BOXES.buffer).glb.length);
    const plain = { attributes: { POSITION: 0 }, indices: 2 };
    const other = change((json) => (json["meshes"] = [{ primitives: [plain] }]));
    expect(packScene(other).glb.length).toBeLessThan(packScene(BOXES.buffer).glb.length);
  });

  test("out of a glTF with its buffers in it", () => {
    const uri = `data:application/octet-stream;base64,${btoa("\0".repeat(36))}`;
    const { parts } = packScene(render({ ...TRIANGLE, buffers: [{ byteLength: 36, uri }] }));
    expect([...parts.chains]).toEqual([[0, ["one"]]]);
  });

  test("and kept as text, and unpacked again up to a size", async () => {
    const text = await renderGlb(BOXES);
    expect(new Uint8Array(await readGlb(text, 1_000_000))).toEqual(BOXES);
    await expect(readGlb(text, 100)).rejects.toThrow("more than 100 bytes");
    await expect(readGlb("AAAA", 100)).rejects.toThrow("no GLB packed by gzip");
    await expect(readGlb("§", 100)).rejects.toThrow("no GLB packed by gzip");
  });
});

describe("a file is refused with what is wrong", () => {
  const uri = "data:;base64,AAAA";
  test.each<[string, ArrayBuffer, string]>([
    ["no glTF", new TextEncoder().encode("solid cube").buffer, "neither a GLB nor the JSON"],
    ["a list", render([]), "not a JSON object"],
    ["an old glTF", render({ asset: { version: "1.0" } }), "no glTF of version 2"],
    ["an old GLB", BOXES.slice().fill(1, 4, 5).buffer, "GLB of version 1"],
    ["a part of a GLB", BOXES.slice(0, 500).buffer, "cut off"],
    ["another file beside it", render({ ...TRIANGLE, buffers: [{ uri: "a.bin" }] }), "needs the file a.bin beside it"], // prettier-ignore
    ["a buffer of nothing", render({ ...TRIANGLE, buffers: [{}] }), "buffer 0 of the scene has no content"], // prettier-ignore
    ["a buffer in no base64", render({ ...TRIANGLE, buffers: [{ uri: "data:;base64,§" }] }), "it is no base64"], // prettier-ignore
    ["a short buffer", render({ ...TRIANGLE, buffers: [{ uri }] }), "beyond its buffer"],
    ["no mesh", render({ asset: { version: "2.0" }, nodes: [{ name: "a" }] }), "nothing to draw"],
    ["a node twice", change((json) => (json["scenes"] = [{ nodes: [0, 0] }])), "more than once"],
    ["a node that is not there", change((json) => (json["scenes"] = [{ nodes: [99] }])), "not there"], // prettier-ignore
    ["Draco", change((json) => (json["extensionsRequired"] = ["KHR_draco_mesh_compression"])), "KHR_draco_mesh_compression, which this page cannot read. Export it without compression"], // prettier-ignore
    ["meshopt", change((json) => (json["extensionsRequired"] = ["EXT_meshopt_compression"])), "without compression"], // prettier-ignore
    ["instances", change((json) => (json["extensionsUsed"] = ["EXT_mesh_gpu_instancing"])), "EXT_mesh_gpu_instancing"], // prettier-ignore
  ])("%s", (_, file, message) => {
    expect(() => packScene(file)).toThrow(message);
  });
});

describe("parts are bound to twins", () => {
  const parts = packScene(
    change((json) => {
      const nodes = json["nodes"] as JsonObject[];
      for (const node of nodes) {
        if (node["name"] === "r1") Object.assign(node, { name: "Room", extras: { $dtId: "r1" } });
        if (node["name"] === "r2") Object.assign(node, { name: "Room", extras: { twin: "gone" } });
        if (node["name"] === "l0") node["name"] = "Level 0";
      }
    }),
  ).parts;
  const isTwin = (id: string): boolean => ["b1", "r1", "l0", "x"].includes(id);
  const bind = (bindings: [string, string | null][], named: [string, string[]][]) =>
    Object.fromEntries(
      [...bindParts(parts, new Map(bindings), isTwin, new Map(named))].map(
        ([name, { twin, how, problem }]) => [name, [twin, how, problem]],
      ),
    );

  test("by extras, by id and by a name that one twin has", () => {
    expect(bind([], [["Level 0", ["l0"]]])).toEqual({
      b1: ["b1", "id", null],
      "Level 0": ["l0", "name", null],
      "Room (r1)": ["r1", "extras", null],
      "Room (gone)": [null, "none", "there is no twin gone"],
    });
  });

  test("by hand first, also to none", () => {
    const bound = bind([["b1", null], ["Room (gone)", "x"]], [["Level 0", ["l0", "l1"]]]); // prettier-ignore
    expect(bound["b1"]).toEqual([null, "hand", null]);
    expect(bound["Room (gone)"]).toEqual(["x", "hand", null]);
    expect(bound["Level 0"]).toEqual([null, "none", "2 twins are called so"]);
  });

  test("and drawn by the innermost, selected with what is in them", () => {
    const bound = bindParts(parts, new Map(), isTwin, new Map([["Level 0", ["l0"]]]));
    const drawn = new Map(
      ["b1", "l0", "r1"].map((id) => [id, { id, label: id, model: "M", color: `#${id}`, modelColor: "", isGone: false }]), // prettier-ignore
    );
    const selected = listNodes(parts, bound, { twin: "r1" });
    expect(selected.size).toBe(1);
    expect(listNodes(parts, bound, { twin: "b1" }).size).toBe(3);
    const looks = [...buildLooks({ scene: parts, bound, drawn, lit: new Set(["r1"]), selected, rest: "hidden", isAlone: true })]; // prettier-ignore
    expect(looks.map(([, one]) => [one.color, one.state, one.sight]).sort()).toEqual([
      ["#l0", "plain", "through"],
      ["#l0", "plain", "through"],
      ["#r1", "lit", "solid"],
    ]);
  });
});

test("a scene is read as it was written, and refused with what is wrong", () => {
  const scene = { pieces: ["p1", "p2"], bindings: new Map([["a", "b1"], ["c", null]]) }; // prettier-ignore
  const content = renderScene(scene);
  expect(readScene(content)).toEqual(scene);
  expect(() => readScene({ ...content, pieces: [] })).toThrow("`pieces`");
  expect(() => readScene({ ...content, pieces: Array<string>(17).fill("p") })).toThrow("17 pieces");
  expect(() => readScene({ ...content, bindings: [] })).toThrow("no object");
  expect(() => readScene({ ...content, bindings: { a: 3 } })).toThrow("binding of a");
});

test("shapes are cut into pieces that fit, and refused where they are too many", () => {
  expect(cutPieces("x".repeat(PIECE + 1)).map((one) => one.length)).toEqual([PIECE, 1]);
  expect(() => cutPieces("x".repeat(PIECE * MOST_PIECES + 1))).toThrow("at most 21,600,000");
});
