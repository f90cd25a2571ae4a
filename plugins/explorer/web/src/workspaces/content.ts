import { KINDS, type Content } from "../api/workspaces";
import { renderJson } from "../api/json";
import type { Json, JsonObject } from "../api/types";
import type { FacetChoice } from "../picture/facetFilter";
import type { LayoutKind } from "../picture/pins";
import type { Restored, RestoredTwin } from "../picture/restore";
import { PLAIN, readStyle, type Style } from "../picture/style";
import { isObject } from "../results/documents";
import type { ResultView } from "../results/store";

/** What the workspace of a picture keeps, as the page uses it. */
export interface PictureContent extends Restored {
  /** The query whose rows are shown; empty where the picture is of none. */
  query: string;
  parameters: JsonObject;
  /** What stands in the editor, where it is another text than the query. */
  draft: { text: string; parameters: string } | null;
  view: ResultView;
  layout: LayoutKind;
  /** Whether the rows are laid over the picture rather than being it. */
  overlays: boolean;
  highlights: boolean;
  style: Style;
}

const VIEWS = ["table", "json", "graph"] as const;
const LAYOUTS = ["force", "layers", "circle", "grid"] as const;

/** The content as it is kept. Places are to a hundredth of the unit of layouts. */
export function renderPicture(picture: PictureContent): Content {
  const { hiding } = picture;
  const rounded = (value: number): number => Math.round(value * 100) / 100;
  return {
    kind: "picture",
    version: KINDS.picture.version,
    query: picture.query,
    parameters: picture.parameters,
    draft: picture.draft,
    view: picture.view,
    layout: picture.layout,
    overlays: picture.overlays,
    highlights: picture.highlights,
    twins: picture.twins.map(({ id, x, y, pinned }) =>
      x === null ? [id] : [id, rounded(x), rounded(y), pinned],
    ),
    removed: [...picture.removed],
    filters: {
      text: hiding.filter,
      facets: hiding.facets as unknown as Json,
      models: [...hiding.models],
      relationships: [...hiding.names],
      twins: [...hiding.ids],
      near: hiding.focus === null ? null : [...hiding.focus],
    },
    style: picture.style as unknown as Json,
  };
}

/**
 * A kept content. What is not there is as in a new picture. Throws with where and what is wrong, as
 * anybody may have written it.
 */
export function readPicture(content: JsonObject): PictureContent {
  const filters = readObject(content, "filters");
  return {
    query: readText(content, "query"),
    parameters: readObject(content, "parameters"),
    draft: readDraft(content),
    view: readOneOf(content, "view", VIEWS),
    layout: readOneOf(content, "layout", LAYOUTS),
    overlays: content["overlays"] === true,
    highlights: content["highlights"] === true,
    twins: readList(content, "twins").map(readNode),
    removed: readTexts(content, "removed"),
    hiding: {
      filter: readText(filters, "text", "filters."),
      facets: readList(filters, "facets", "filters.").map(readFacet),
      models: new Set(readTexts(filters, "models", "filters.")),
      names: new Set(readTexts(filters, "relationships", "filters.")),
      ids: new Set(readTexts(filters, "twins", "filters.")),
      focus:
        (filters["near"] ?? null) === null ? null : new Set(readTexts(filters, "near", "filters.")),
      draft: null,
    },
    style: content["style"] === undefined ? PLAIN : readStyle(content["style"]),
  };
}

/** What of a content tells one picture from another: not where a layout put what is not pinned. */
export function writeEssence(
  picture: PictureContent,
  isGone: (id: string) => boolean = () => false,
): string {
  // Which tab is looked at is no change that anybody would miss.
  const others = renderPicture({ ...picture, twins: [], view: "table" });
  const twins = picture.twins
    .filter(({ id }) => !isGone(id))
    .map((one) =>
      one.x !== null && one.pinned
        ? renderJson([one.id, Math.round(one.x), Math.round(one.y)])
        : one.id,
    )
    .sort();
  return renderJson({ ...others, twins, removed: [...picture.removed].sort() });
}

function fail(where: string, wanted: string, found: Json | undefined): never {
  const told = found === undefined ? "missing" : renderJson(found).slice(0, 80);
  throw new Error(`The workspace cannot be read: \`${where}\` has to be ${wanted}; it is ${told}.`);
}

function readText(of: JsonObject, name: string, before = ""): string {
  const found = of[name] ?? "";
  return typeof found === "string" ? found : fail(before + name, "a text", found);
}

function readObject(of: JsonObject, name: string): JsonObject {
  const found = of[name] ?? {};
  return isObject(found) ? found : fail(name, "an object", found);
}

function readList(of: JsonObject, name: string, before = ""): Json[] {
  const found = of[name] ?? [];
  return Array.isArray(found) ? found : fail(before + name, "a list", found);
}

function readTexts(of: JsonObject, name: string, before = ""): string[] {
  return readList(of, name, before).map((one, at) =>
    typeof one === "string" ? one : fail(`${before}${name}[${at}]`, "a text", one),
  );
}

function readOneOf<Word extends string>(
  of: JsonObject,
  name: string,
  words: readonly [Word, ...Word[]],
): Word {
  const found = of[name] ?? words[0];
  const known = words.find((one) => one === found);
  return known ?? fail(name, `one of ${words.join(", ")}`, found);
}

function readDraft(content: JsonObject): PictureContent["draft"] {
  const found = content["draft"] ?? null;
  if (found === null) return null;
  if (!isObject(found)) return fail("draft", "an object", found);
  return {
    text: readText(found, "text", "draft."),
    parameters: readText(found, "parameters", "draft."),
  };
}

function readNode(found: Json, at: number): RestoredTwin {
  const [id, x, y, pinned] = Array.isArray(found) ? found : [];
  if (typeof id === "string" && x === undefined) return { id, x: null, y: null, pinned: false };
  if (typeof id !== "string" || typeof x !== "number" || typeof y !== "number") {
    return fail(`twins[${at}]`, "a list of id, x, y and whether it is pinned", found);
  }
  return { id, x, y, pinned: pinned === true };
}

function readFacet(found: Json, at: number): FacetChoice {
  const where = `filters.facets[${at}]`;
  if (!isObject(found) || typeof found["property"] !== "string") {
    return fail(where, "an object with a `property`", found);
  }
  const { property, kind, from = null, to = null } = found;
  if (kind === "values") {
    return { property, kind, values: readTexts(found, "values", `${where}.`) };
  }
  const isEnd = (end: Json): end is number | null => end === null || typeof end === "number";
  if (kind !== "range" || !isEnd(from) || !isEnd(to)) {
    return fail(
      where,
      "of the kind `values` with `values`, or `range` with `from` and `to`",
      found,
    );
  }
  return { property, kind, from, to };
}
