import { ApiError } from "./errors";
import type { Http } from "./http";
import type { JsonObject, Page } from "./types";

/**
 * What workspaces of this page hold, by the `kind` of their content: how it is called, and the newest
 * `version` that is read here. A version rises when an older page could not read the content.
 */
export const KINDS = {
  /** A picture with its style, filters and queries (`workspaces/content.ts`). */
  picture: { name: "a picture", version: 1 },
  /** How everyone's pictures of the graph are drawn (`workspaces/sharedStyle.ts`). */
  style: { name: "a style", version: 1 },
  dashboard: { name: "a dashboard", version: 1 },
  plan: { name: "a floor plan", version: 1 },
  scene: { name: "a 3D scene", version: 1 },
  /** A part of the shapes of a scene, which are too long for one workspace. */
  "scene-piece": { name: "a piece of a 3D scene", version: 1 },
} as const;

export type Kind = keyof typeof KINDS;

/** What the content of every workspace begins with; the rest is the kind's own. */
export interface Content extends JsonObject {
  kind: string;
  version: number;
}

/** A workspace as it is listed. */
export interface WorkspaceHead {
  id: string;
  name: string;
  /** The `kind` of its content; null where the content says none. */
  kind: string | null;
  etag: string;
  createdTime: string;
  /** Null where callers are not known or not kept; so is `lastUpdateBy`. */
  createdBy: string | null;
  lastUpdateTime: string;
  lastUpdateBy: string | null;
}

export interface Workspace extends WorkspaceHead {
  content: JsonObject;
}

/** The permissions that the operations ask for, for `Session.may`. */
export const MAY = {
  read: "workspaces/read",
  write: "workspaces/write",
  delete: "workspaces/delete",
} as const;

const NEW = { "If-None-Match": "*" };

/** The workspaces of one graph: `new Workspaces(graph.http)`. Every method throws `ApiError`. */
export class Workspaces {
  constructor(private readonly http: Http) {}

  /** All of them without their contents, by id; of one kind where one is named. */
  async list(kind?: Kind, signal?: AbortSignal): Promise<WorkspaceHead[]> {
    const found: WorkspaceHead[] = [];
    let next: string | null = "/workspaces";
    while (next !== null) {
      const page: Page<WorkspaceHead> = await this.http.json(next, { signal });
      found.push(...page.value);
      next = page.nextLink === null ? null : this.http.follow(page.nextLink);
    }
    return kind === undefined ? found : found.filter((one) => one.kind === kind);
  }

  read(id: string, signal?: AbortSignal): Promise<Workspace> {
    return this.http.json(pathOf(id), { signal });
  }

  /** The same; null where there is none of this id. */
  async find(id: string, signal?: AbortSignal): Promise<Workspace | null> {
    try {
      return await this.read(id, signal);
    } catch (error) {
      if (error instanceof ApiError && error.code === "WorkspaceNotFound") return null;
      throw error;
    }
  }

  /** Keeps a new one under an id of its own, which is made of its name. */
  async create(name: string, content: Content): Promise<Workspace> {
    for (const id of idsFor(name)) {
      try {
        return await this.put(id, name, content, NEW);
      } catch (error) {
        // Another has the id: nothing of it is replaced.
        if (!(error instanceof ApiError && error.isConflict)) throw error;
      }
    }
    throw new Error(`No id could be found for «${name}». Give it another name.`);
  }

  /** Keeps one under this very id; 412 where there is one already. */
  createAs(id: string, name: string, content: Content): Promise<Workspace> {
    return this.put(id, name, content, NEW);
  }

  /** Replaces it as a whole; 412 where it is no longer of this etag. `*` takes whatever is there. */
  replace(id: string, name: string, content: JsonObject, etag: string): Promise<Workspace> {
    return this.put(id, name, content, { "If-Match": etag });
  }

  /** Deletes it; 412 where it is no longer of this etag. */
  async delete(id: string, etag: string): Promise<void> {
    await this.http.send(pathOf(id), { method: "DELETE", headers: { "If-Match": etag } });
  }

  private put(
    id: string,
    name: string,
    content: JsonObject,
    headers: Record<string, string>,
  ): Promise<Workspace> {
    return this.http.json(pathOf(id), { method: "PUT", headers, body: { name, content } });
  }
}

function pathOf(id: string): string {
  return `/workspaces/${encodeURIComponent(id)}`;
}

/** Ids to try for a name, the plain one first. */
function* idsFor(name: string): Generator<string> {
  const plain =
    name
      .normalize("NFKD")
      .toLowerCase()
      .replace(/\p{M}/gu, "")
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 60) || "workspace";
  yield plain;
  for (let at = 0; at < 5; at += 1) yield `${plain}-${crypto.randomUUID().slice(0, 8)}`;
}

/**
 * The content of a workspace of the wanted kind. Throws with a sentence for people where it is of
 * another kind, another page's, or of a version that is newer than what is read here.
 */
export function readContent(workspace: Workspace, wanted: Kind): Content {
  const { name, content } = workspace;
  const { kind, version } = content;
  const { name: thing, version: newest } = KINDS[wanted];
  if (kind !== wanted) {
    const known = typeof kind === "string" && Object.hasOwn(KINDS, kind);
    const found = known
      ? `is ${KINDS[kind as Kind].name}`
      : typeof kind === "string"
        ? `was kept by another page, as “${kind}”`
        : "was kept by another page, which does not say as what";
    throw new Error(`The workspace «${name}» ${found}. It cannot be opened as ${thing}.`);
  }
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1) {
    throw new Error(
      `The workspace «${name}» has no \`version\` that is a whole number from 1, so it is not ` +
        "known how to read it.",
    );
  }
  if (version > newest) {
    throw new Error(
      `The workspace «${name}» was saved by a newer version of this page: its content is of ` +
        `version ${version}, and up to ${newest} can be read. Load the page again; where that ` +
        "does not help, the service has to be upgraded.",
    );
  }
  return content as Content;
}
