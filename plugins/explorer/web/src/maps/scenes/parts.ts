import type { Json, JsonObject } from "../../api/types";
import { isObject } from "../../models/interfaces";

/** What a twin can be bound to: all nodes of a scene that are called so. */
export interface Part {
  name: string;
  /** The twin that `extras` of the file name; null where they name none. */
  said: string | null;
  /** What may be the id or the name of its twin, the surest first. */
  words: readonly string[];
  /** How many shapes are of it, with those of the parts in it. */
  shapes: number;
}

export interface SceneParts {
  /** By name. */
  parts: ReadonlyMap<string, Part>;
  /** The names of the parts that a node with shapes is of, its own first, by its number. */
  chains: ReadonlyMap<number, readonly string[]>;
}

/** Members of `extras` that name a twin. */
const EXTRAS = ["$dtId", "twin", "dtId", "twinId"];

/**
 * The parts of the scene that a glTF shows. Throws with a sentence for people where there is
 * nothing to draw, or its nodes are no tree. Gives a file without scenes one of all its nodes.
 */
export function listParts(json: JsonObject): SceneParts {
  const nodes = listOf(json["nodes"]);
  if (listOf(json["scenes"]).length === 0) {
    const below = new Set(
      nodes.flatMap((node) => (isObject(node) ? listOf(node["children"]) : [])),
    );
    json["scenes"] = [{ nodes: nodes.map((_, at) => at).filter((at) => !below.has(at)) }];
    json["scene"] = 0;
  }
  json["scene"] ??= 0;
  const scene = listOf(json["scenes"])[Number(json["scene"])];
  const parts = new Map<string, Part>();
  const chains = new Map<number, readonly string[]>();
  const seen = new Set<number>();
  const waiting = listNumbers(isObject(scene) ? scene["nodes"] : []).map((at) => ({ at, above: [] as readonly string[] })); // prettier-ignore
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { at, above } = next;
    const node = nodes[at];
    if (!isObject(node)) throw new Error(`The scene names the node ${at}, which is not there.`);
    if (seen.has(at)) throw new Error(`The node ${at} of the scene is in it more than once.`);
    seen.add(at);
    const mesh = typeof node["mesh"] === "number" ? listOf(json["meshes"])[node["mesh"]] : null;
    const part = readPart(node, isObject(mesh) ? mesh : {});
    const chain = part === null || above.includes(part.name) ? above : [part.name, ...above];
    if (part !== null && !parts.has(part.name)) parts.set(part.name, part);
    if (isObject(mesh)) {
      chains.set(at, chain);
      for (const name of chain) {
        const known = parts.get(name);
        if (known !== undefined) known.shapes += 1;
      }
    }
    for (const child of listNumbers(node["children"])) waiting.push({ at: child, above: chain });
  }
  if (chains.size === 0) throw new Error("There is nothing to draw in the file: it has no mesh.");
  // A node without shapes, such as a lamp or a camera, is no part that anybody sees.
  for (const [name, { shapes }] of parts) if (shapes === 0) parts.delete(name);
  return { parts, chains };
}

/** What a node is as a part; null where nothing calls it anything. */
function readPart(node: JsonObject, mesh: JsonObject): Part | null {
  const said = readExtras(node["extras"]) ?? readExtras(mesh["extras"]);
  const names = [node["name"], mesh["name"]].filter(isWord);
  const [name = said] = names;
  if (name === null) return null;
  // Exports call all rooms «Room» and say in extras which one it is.
  const own = said === null || said === name ? name : `${name} (${said})`;
  const words = [...new Set([...(said === null ? [] : [said]), ...names])];
  return { name: own, said, words, shapes: 0 };
}

function readExtras(extras: Json | undefined): string | null {
  if (!isObject(extras)) return null;
  return EXTRAS.map((name) => extras[name]).find(isWord) ?? null;
}

function isWord(value: Json | undefined): value is string {
  return typeof value === "string" && value.trim() !== "";
}

/** A list; an empty one for what is none. */
export function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function listNumbers(value: Json | undefined): number[] {
  return listOf(value).map(Number);
}

/** Which twin each part is of by hand; null is none. What is not in it is found by itself. */
export type Bindings = ReadonlyMap<string, string | null>;

export interface Bound {
  part: Part;
  /** The id of its twin; null where it has none. */
  twin: string | null;
  /** By what it has it, or has none. */
  how: "hand" | "extras" | "id" | "name" | "none";
  /** Why none was found, where something looked like one. */
  problem: string | null;
}

/**
 * Binds parts to twins: by hand, else by what the file says in `extras`, else by a name that is the
 * id of a twin, else by one that is the name of one twin alone.
 */
export function bindParts(
  { parts }: SceneParts,
  bindings: Bindings,
  isTwin: (id: string) => boolean,
  named: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, Bound> {
  return new Map([...parts].map(([name, part]) => [name, bindPart(part, bindings, isTwin, named)]));
}

function bindPart(
  part: Part,
  bindings: Bindings,
  isTwin: (id: string) => boolean,
  named: ReadonlyMap<string, readonly string[]>,
): Bound {
  const hand = bindings.get(part.name);
  if (hand !== undefined) return { part, twin: hand, how: "hand", problem: null };
  if (part.said !== null && isTwin(part.said)) {
    return { part, twin: part.said, how: "extras", problem: null };
  }
  const id = part.words.find(isTwin);
  if (id !== undefined) return { part, twin: id, how: "id", problem: null };
  for (const word of part.words) {
    const found = named.get(word) ?? [];
    const [only] = found;
    if (only === undefined) continue;
    if (found.length === 1) return { part, twin: only, how: "name", problem: null };
    const problem = `${found.length.toLocaleString()} twins are called so`;
    return { part, twin: null, how: "none", problem };
  }
  const problem = part.said === null ? null : `there is no twin ${part.said}`;
  return { part, twin: null, how: "none", problem };
}
