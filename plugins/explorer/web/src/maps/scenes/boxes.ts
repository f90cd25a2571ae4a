import type { Json, JsonObject } from "../../api/types";
import { renderGlbFile } from "./pack";

/** A location as a box, or as what is around the boxes of its parts. */
export interface Location {
  id: string;
  /** Whether it is a level: levels lie one above the other, all else side by side. */
  isLevel: boolean;
  parts: readonly Location[];
}

type Vector = readonly [x: number, y: number, z: number];

/** The size of what has no parts, such as a room, and what is between boxes, in metres. */
const ROOM: Vector = [5, 3, 5];
const GAP = 0.4;
/** Between what has parts itself, such as buildings. */
const APART = 6;
const SLAB = 0.3;

/** A node of a glTF, and how much room it takes. */
interface Placed {
  node: number;
  size: Vector;
}

/** A GLB with a box for each location, whose node is called as its twin, within that of its whole. */
export function renderBoxes(top: Location): Uint8Array<ArrayBuffer> {
  const nodes: JsonObject[] = [];
  const { node } = placeLocation(top, nodes);
  const { mesh, accessors, bufferViews, bytes } = renderCube();
  const json: JsonObject = {
    asset: { version: "2.0", generator: "twinframe" },
    scene: 0,
    scenes: [{ nodes: [node] }],
    nodes,
    meshes: [mesh],
    accessors,
    bufferViews,
    buffers: [{ byteLength: bytes.length }],
  };
  return renderGlbFile(json, bytes);
}

function placeLocation(location: Location, nodes: JsonObject[]): Placed {
  const { id, parts } = location;
  if (parts.length === 0) {
    return { node: nodes.push({ name: id, children: [pushCube(nodes, [0, 0, 0], ROOM)] }) - 1, size: ROOM }; // prettier-ignore
  }
  const placed = parts.map((one) => placeLocation(one, nodes));
  const isStack = parts.every((one) => one.isLevel);
  const gap = parts.some((one) => one.parts.length > 0) ? APART : GAP;
  const columns = isStack ? 1 : Math.ceil(Math.sqrt(parts.length));
  let [x, z, width, depth, row] = [0, 0, 0, 0, 0];
  let height = isStack ? 0 : SLAB;
  let tallest = 0;
  placed.forEach(({ node, size }, at) => {
    if (isStack) {
      nodes[node] = { ...nodes[node], translation: [0, height, 0] };
      height += size[1] + GAP;
      [width, depth] = [Math.max(width, size[0]), Math.max(depth, size[2])];
      return;
    }
    nodes[node] = { ...nodes[node], translation: [x, SLAB, z] };
    x += size[0] + gap;
    row = Math.max(row, size[2]);
    [width, depth] = [Math.max(width, x - gap), z + row];
    tallest = Math.max(tallest, size[1]);
    if ((at + 1) % columns === 0) [x, z, row] = [0, z + row + gap, 0];
  });
  const children: Json[] = placed.map(({ node }) => node);
  if (!isStack) {
    height += tallest;
    children.push(pushCube(nodes, [0, 0, 0], [width, SLAB * 0.9, depth]));
  }
  return { node: nodes.push({ name: id, children }) - 1, size: [width, height, depth] };
}

function pushCube(nodes: JsonObject[], at: Vector, size: Vector): number {
  return nodes.push({ mesh: 0, translation: [...at], scale: [...size] }) - 1;
}

/** A cube from 0 to 1, with a normal for each face. */
function renderCube() {
  const [positions, normals, indices]: [number[], number[], number[]] = [[], [], []];
  for (const axis of [0, 1, 2]) {
    for (const side of [0, 1]) {
      const first = positions.length / 3;
      for (const [across, along] of [
        [0, 0],
        [1, 0],
        [1, 1],
        [0, 1],
      ] as const) {
        // prettier-ignore
        const corner = [0, 0, 0];
        corner[axis] = side;
        corner[(axis + 1) % 3] = across;
        corner[(axis + 2) % 3] = along;
        positions.push(...corner);
        normals.push(...[0, 1, 2].map((one) => (one === axis ? 2 * side - 1 : 0)));
      }
      const turn = side === 1 ? [0, 1, 2, 0, 2, 3] : [0, 2, 1, 0, 3, 2];
      indices.push(...turn.map((corner) => first + corner));
    }
  }
  const numbers = new Float32Array([...positions, ...normals]);
  const corners = new Uint16Array(indices);
  const half = numbers.byteLength / 2;
  const bytes = new Uint8Array(numbers.byteLength + corners.byteLength);
  bytes.set(new Uint8Array(numbers.buffer));
  bytes.set(new Uint8Array(corners.buffer), numbers.byteLength);
  const count = positions.length / 3;
  const vectors = { componentType: 5126, count, type: "VEC3" };
  return {
    bytes,
    mesh: { primitives: [{ attributes: { POSITION: 0, NORMAL: 1 }, indices: 2 }] },
    accessors: [
      { ...vectors, bufferView: 0, min: [0, 0, 0], max: [1, 1, 1] },
      { ...vectors, bufferView: 1 },
      { componentType: 5123, count: corners.length, type: "SCALAR", bufferView: 2 },
    ],
    bufferViews: [
      { buffer: 0, byteOffset: 0, byteLength: half },
      { buffer: 0, byteOffset: half, byteLength: half },
      { buffer: 0, byteOffset: 2 * half, byteLength: corners.byteLength },
    ],
  };
}
