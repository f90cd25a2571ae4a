import { parseJson, renderJson } from "../../api/json";
import type { Json, JsonObject } from "../../api/types";
import { isObject } from "../../models/interfaces";
import { listOf, listParts, type SceneParts } from "./parts";

/** A scene as it is drawn and kept: shapes and names alone. */
export interface PackedScene {
  glb: Uint8Array<ArrayBuffer>;
  parts: SceneParts;
}

const MAGIC = 0x46546c67; // "glTF"
const JSON_CHUNK = 0x4e4f534a;
const BINARY_CHUNK = 0x004e4942;
/** Extensions that say how shapes are stored, and are read. */
const READ = ["KHR_mesh_quantization"];
/** Extensions of surfaces and lights: nothing is missed, as the colours come from values. */
const SURFACE = /^(?:KHR_materials_|EXT_materials_|KHR_texture_|EXT_texture_|KHR_lights_|KHR_xmp)/;
/** Extensions without which things would be missing, also where the file calls them optional. */
const NEEDED = ["EXT_mesh_gpu_instancing"];
const COMPRESSED = /draco|meshopt/i;
/** Of the attributes of a shape, those that say where it is and how light falls on it. */
const ATTRIBUTE = /^(?:POSITION|NORMAL|JOINTS_\d+|WEIGHTS_\d+)$/;
const LEFT_OUT = ["images", "textures", "samplers", "animations", "cameras", "extensions"];

/**
 * A scene as one GLB of shapes and names alone: pictures, animations and other buffers are left
 * out. Takes GLB, and glTF whose buffers are in the file. Throws with a sentence for people.
 *
 * SEC: what it gives names no other file, so that nothing is fetched for it, whoever wrote it.
 */
export function packScene(file: ArrayBuffer): PackedScene {
  const { json, binary } = readFile(new Uint8Array(file));
  const version = isObject(json["asset"]) ? json["asset"]["version"] : undefined;
  if (typeof version !== "string" || !version.startsWith("2.")) {
    throw new Error("The file is no glTF of version 2: its `asset.version` has to be 2.0.");
  }
  checkExtensions(json);
  const buffers = listOf(json["buffers"]).map((one, at) => readBuffer(one, at, binary));
  leaveOut(json, LEFT_OUT);
  const used = reduceMeshes(json);
  const bytes = packViews(json, buffers, used);
  json["buffers"] = bytes.length === 0 ? [] : [{ byteLength: bytes.length }];
  json["materials"] = listOf(json["materials"]).map(() => ({}));
  for (const name of ["extensionsUsed", "extensionsRequired"]) {
    const kept = listOf(json[name]).filter((one) => READ.includes(String(one)));
    if (kept.length > 0) json[name] = kept;
    else leaveOut(json, [name]);
  }
  for (const node of listOf(json["nodes"])) {
    if (isObject(node)) leaveOut(node, ["camera", "extensions", "weights"]);
  }
  const parts = listParts(json);
  return { glb: renderGlbFile(json, bytes), parts };
}

function checkExtensions(json: JsonObject): void {
  const required = listOf(json["extensionsRequired"]).map(String);
  const unread = [
    ...required.filter((one) => !READ.includes(one) && !SURFACE.test(one)),
    ...listOf(json["extensionsUsed"])
      .map(String)
      .filter((one) => NEEDED.includes(one)),
  ];
  if (unread.length === 0) return;
  const how = unread.some((one) => COMPRESSED.test(one))
    ? "Export it without compression of meshes."
    : "Export it without that.";
  const names = [...new Set(unread)].join(", ");
  throw new Error(`The scene needs ${names}, which this page cannot read. ${how}`);
}

function readFile(bytes: Uint8Array): { json: JsonObject; binary: Uint8Array | null } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || view.getUint32(0, true) !== MAGIC) {
    return { json: readJson(bytes), binary: null };
  }
  const version = view.getUint32(4, true);
  if (version !== 2) throw new Error(`The file is a GLB of version ${version}; it has to be 2.`);
  let json: JsonObject | null = null;
  let binary: Uint8Array | null = null;
  for (let at = 12; at + 8 <= bytes.length;) {
    const [length, kind] = [view.getUint32(at, true), view.getUint32(at + 4, true)];
    const chunk = bytes.subarray(at + 8, at + 8 + length);
    if (chunk.length < length) {
      throw new Error("The GLB file is cut off: its end is missing. Get it or export it again.");
    }
    if (kind === JSON_CHUNK) json ??= readJson(chunk);
    else if (kind === BINARY_CHUNK) binary ??= chunk;
    at += 8 + length;
  }
  if (json === null) throw new Error("The GLB file has no scene in it.");
  return { json, binary };
}

function readJson(bytes: Uint8Array): JsonObject {
  let json: Json;
  try {
    json = parseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new Error(
      "The file is neither a GLB nor the JSON of a glTF: export it as glTF binary (.glb).",
      { cause: error },
    );
  }
  if (!isObject(json)) throw new Error("The file is no glTF: it is not a JSON object.");
  return json;
}

function readBuffer(buffer: Json, at: number, binary: Uint8Array | null): Uint8Array {
  const uri = isObject(buffer) ? buffer["uri"] : undefined;
  if (uri === undefined) {
    if (at === 0 && binary !== null) return binary;
    throw new Error(`The buffer ${at} of the scene has no content.`);
  }
  if (typeof uri !== "string" || !uri.startsWith("data:")) {
    const name = String(uri).slice(0, 100);
    throw new Error(
      `The scene needs the file ${name} beside it: export it as one file, glTF binary (.glb).`,
    );
  }
  const found = /^data:[^,]*;base64,/.exec(uri);
  try {
    if (found === null) throw new Error("It is not base64.");
    return readBase64(uri.slice(found[0].length));
  } catch (error) {
    throw new Error(`The buffer ${at} of the scene cannot be read: it is no base64.`, {
      cause: error,
    });
  }
}

/** Takes out of the meshes what is not drawn; returns the accessors that are. */
function reduceMeshes(json: JsonObject): Set<number> {
  const used = new Set<number>();
  const keep = (accessor: Json | undefined): void => {
    if (typeof accessor === "number") used.add(accessor);
  };
  for (const mesh of listOf(json["meshes"])) {
    if (!isObject(mesh)) continue;
    leaveOut(mesh, ["weights", "extensions"]);
    for (const primitive of listOf(mesh["primitives"])) {
      if (!isObject(primitive)) continue;
      leaveOut(primitive, ["targets", "extensions"]);
      keep(primitive["indices"]);
      const attributes = isObject(primitive["attributes"]) ? primitive["attributes"] : {};
      const kept = Object.entries(attributes).filter(([name]) => ATTRIBUTE.test(name));
      primitive["attributes"] = Object.fromEntries(kept);
      for (const [, accessor] of kept) keep(accessor);
    }
  }
  for (const skin of listOf(json["skins"])) {
    if (isObject(skin)) keep(skin["inverseBindMatrices"]);
  }
  return used;
}

/** Puts the parts of the buffers that accessors in use are made of into one, one after the other. */
function packViews(
  json: JsonObject,
  buffers: readonly Uint8Array[],
  used: ReadonlySet<number>,
): Uint8Array {
  const old = listOf(json["bufferViews"]);
  const views: JsonObject[] = [];
  const taken: Uint8Array[] = [];
  const places = new Map<number, number>();
  let length = 0;
  const take = (holder: Json | undefined): void => {
    if (!isObject(holder) || typeof holder["bufferView"] !== "number") return;
    const from = holder["bufferView"];
    let to = places.get(from);
    if (to === undefined) {
      const view = isObject(old[from]) ? old[from] : {};
      const [start, size] = [Number(view["byteOffset"] ?? 0), Number(view["byteLength"])];
      const part = buffers[Number(view["buffer"])]?.subarray(start, start + size);
      if (part?.length !== size) {
        throw new Error(`The buffer view ${from} of the scene is beyond its buffer.`);
      }
      leaveOut(view, ["extensions"]);
      to = views.push({ ...view, buffer: 0, byteOffset: length }) - 1;
      places.set(from, to);
      taken.push(part);
      length += Math.ceil(part.length / 4) * 4;
    }
    holder["bufferView"] = to;
  };
  const accessors = listOf(json["accessors"]);
  accessors.forEach((accessor, at) => {
    if (!isObject(accessor)) return;
    // Its number is named by others, so it stays, with nothing in it.
    if (!used.has(at)) return void (accessors[at] = { componentType: 5126, count: 1, type: "SCALAR" }); // prettier-ignore
    take(accessor);
    const { sparse } = accessor;
    if (!isObject(sparse)) return;
    take(sparse["indices"]);
    take(sparse["values"]);
  });
  json["bufferViews"] = views;
  const bytes = new Uint8Array(length);
  taken.forEach((part, at) => bytes.set(part, Number(views[at]?.["byteOffset"] ?? 0)));
  return bytes;
}

/** A GLB of a scene and its one buffer. */
export function renderGlbFile(json: JsonObject, binary: Uint8Array): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(renderJson(json));
  const [first, second] = [Math.ceil(text.length / 4) * 4, binary.length];
  const bytes = new Uint8Array(12 + 8 + first + 8 + second);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, 2, true);
  view.setUint32(8, bytes.length, true);
  view.setUint32(12, first, true);
  view.setUint32(16, JSON_CHUNK, true);
  bytes.fill(0x20, 20, 20 + first);
  bytes.set(text, 20);
  view.setUint32(20 + first, second, true);
  view.setUint32(24 + first, BINARY_CHUNK, true);
  bytes.set(binary, 28 + first);
  return bytes;
}

function leaveOut(of: JsonObject, names: readonly string[]): void {
  for (const name of names) Reflect.deleteProperty(of, name);
}

/** The GLB as it is kept: packed by gzip, in base64. */
export async function renderGlb(glb: Uint8Array<ArrayBuffer>): Promise<string> {
  const packed = new Blob([glb]).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  let text = "";
  // A call takes so many arguments.
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(text);
}

/** The GLB out of what was kept; at most `most` bytes. */
export async function readGlb(kept: string, most: number): Promise<ArrayBuffer> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  try {
    const plain = new Blob([readBase64(kept)])
      .stream()
      .pipeThrough(new DecompressionStream("gzip"))
      .getReader();
    for (let read = await plain.read(); !read.done; read = await plain.read()) {
      chunks.push(read.value);
      length += read.value.length;
      // SEC: a few packed bytes may be any number of plain ones.
      if (length > most) break;
    }
  } catch (error) {
    throw new Error("The pieces of the scene are no GLB packed by gzip, in base64.", {
      cause: error,
    });
  }
  if (length > most) {
    throw new Error(`The scene has more than ${most.toLocaleString()} bytes once it is unpacked.`);
  }
  return new Blob(chunks).arrayBuffer();
}

function readBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
}
