import { ApiError } from "../../api/errors";
import type { Json, JsonObject } from "../../api/types";
import { readContent, type Content, type Workspace, type Workspaces } from "../../api/workspaces";
import { isObject } from "../../models/interfaces";
import { packScene, readGlb, renderGlb, type PackedScene } from "./pack";
import type { Bindings } from "./parts";

/** A scene, as the content of its workspace has it. */
export interface Scene {
  /** The ids of the workspaces that hold its shapes, in order. */
  pieces: readonly string[];
  bindings: Bindings;
}

/** So many characters a piece has: it fits into a workspace of the usual size (2 MiB). */
export const PIECE = 1_800_000;
/** SEC: each is a request when the scene is opened. */
export const MOST_PIECES = 16;
/** So many bytes a file has at most, and so many the unpacked shapes. */
export const MOST_FILE = 100_000_000;

/** The scene in a content that `readContent` took. Throws where a member is not what it has to be. */
export function readScene(content: Content): Scene {
  const { pieces, bindings = {} } = content;
  if (!Array.isArray(pieces) || pieces.length === 0 || !pieces.every(isText)) {
    throw new Error("The scene's `pieces` have to be the ids of workspaces, at least one.");
  }
  if (pieces.length > MOST_PIECES) {
    throw new Error(`The scene has ${pieces.length} pieces; up to ${MOST_PIECES} are read.`);
  }
  if (!isObject(bindings)) throw new Error("The scene's `bindings` are no object.");
  const read = Object.entries(bindings).map(([part, twin]): [string, string | null] => {
    if (twin === null || isText(twin)) return [part, twin];
    throw new Error(`The scene's binding of ${part} has to be the id of a twin, or null for none.`);
  });
  return { pieces, bindings: new Map(read) };
}

function isText(value: Json): value is string {
  return typeof value === "string" && value !== "";
}

/** The content of the workspace that keeps a scene. */
export function renderScene({ pieces, bindings }: Scene): Content {
  const kept: JsonObject = Object.fromEntries(bindings);
  return { kind: "scene", version: 1, pieces: [...pieces], bindings: kept };
}

/** The scene in a file, as it is kept. Throws with a sentence for people. */
export async function readSceneFile(file: File): Promise<PackedScene> {
  if (file.size > MOST_FILE) {
    throw new Error(
      `${file.name} has ${file.size.toLocaleString()} bytes; a scene has at most ` +
        `${MOST_FILE.toLocaleString()}. Leave out what is not seen, or make a scene of each building.`,
    );
  }
  try {
    return packScene(await file.arrayBuffer());
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`${file.name} cannot be used. ${message}`, { cause: error });
  }
}

/** Cuts what is kept into pieces. Throws where they would be too many. */
export function cutPieces(text: string): string[] {
  const most = PIECE * MOST_PIECES;
  if (text.length > most) {
    const [has, may] = [text, { length: most }].map(({ length }) =>
      Math.round((length * 3) / 4).toLocaleString(),
    );
    throw new Error(
      `The shapes of the scene have ${has} bytes, packed by gzip; at most ${may} are kept. ` +
        "Leave out what is not seen, such as furniture, or make a scene of each building.",
    );
  }
  const count = Math.ceil(text.length / PIECE);
  return Array.from({ length: count }, (_, at) => text.slice(at * PIECE, (at + 1) * PIECE));
}

/** Keeps the shapes of a scene as workspaces of their own; returns their ids. */
export async function keepPieces(
  workspaces: Workspaces,
  name: string,
  { glb }: PackedScene,
): Promise<string[]> {
  const pieces = cutPieces(await renderGlb(glb));
  const ids: string[] = [];
  try {
    for (const [at, data] of pieces.entries()) {
      const id = `scene-piece-${crypto.randomUUID()}`;
      const title = `${name.slice(0, 160)}: piece ${at + 1} of ${pieces.length}`;
      await workspaces.createAs(id, title, { kind: "scene-piece", version: 1, data });
      ids.push(id);
    }
  } catch (error) {
    await deletePieces(workspaces, ids);
    throw error;
  }
  return ids;
}

/** Takes away pieces that nothing needs any more; those that are gone are no matter. */
export async function deletePieces(workspaces: Workspaces, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    try {
      await workspaces.delete(id, "*");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }
}

/** The shapes of a scene out of its pieces. */
export async function readPieces(
  workspaces: Workspaces,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<PackedScene> {
  const pieces = await Promise.all(ids.map((id) => workspaces.read(id, signal)));
  const text = pieces.map(readPiece).join("");
  return packScene(await readGlb(text, MOST_FILE));
}

function readPiece(piece: Workspace): string {
  const { data } = readContent(piece, "scene-piece");
  if (typeof data === "string") return data;
  throw new Error(`The piece ${piece.id} of the scene has no \`data\` that is a text.`);
}

/** Binds one part by hand, or as it is found where `twin` is undefined, and keeps that. */
export async function keepBinding(
  workspaces: Workspaces,
  from: Workspace,
  part: string,
  twin: string | null | undefined,
): Promise<Workspace> {
  const put = (base: Workspace): Promise<Workspace> => {
    const scene = readScene(readContent(base, "scene"));
    const bindings = new Map(scene.bindings);
    if (twin === undefined) bindings.delete(part);
    else bindings.set(part, twin);
    const content = renderScene({ ...scene, bindings });
    return workspaces.replace(base.id, base.name, content, base.etag);
  };
  try {
    return await put(from);
  } catch (error) {
    if (!(error instanceof ApiError && error.isConflict)) throw error;
    // Somebody else has bound another part meanwhile: theirs stays.
    return put(await workspaces.read(from.id));
  }
}
