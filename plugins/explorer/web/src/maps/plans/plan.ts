import type { Json, JsonObject } from "../../api/types";
import type { Content } from "../../api/workspaces";
import { isObject } from "../../models/interfaces";

/** A position in pixels of the plan, from its upper left corner. */
export type At = readonly [x: number, y: number];

/** Where a twin is: one position is a point, three and more are the corners of an area. */
export type Shape = readonly At[];

export type Shapes = ReadonlyMap<string, Shape>;

/** A floor plan, as the content of its workspace has it. */
export interface Plan {
  /** A picture as a `data:` URL; null is a sheet without one. */
  image: string | null;
  width: number;
  height: number;
  /** The twin that the plan is of, such as a level; its parts are offered first. */
  location: string | null;
  /** By the ids of twins. */
  shapes: Shapes;
}

/** SEC: pictures alone, which the page shows as pictures: nothing in them runs or is fetched. */
const IMAGE = /^data:image\/(?:webp|png|jpeg|svg\+xml);base64,[A-Za-z0-9+/=]+$/;
const MOST_SIDE = 100_000;

/** The plan in a content that `readContent` took. Throws where a member is not what it has to be. */
export function readPlan(content: Content): Plan {
  const { image = null, width, height, location = null, shapes = {} } = content;
  if (image !== null && (typeof image !== "string" || !IMAGE.test(image))) {
    throw new Error(
      "The floor plan's `image` is no picture: it has to be null, or a data: URL in base64 of the " +
        "type image/webp, image/png, image/jpeg or image/svg+xml.",
    );
  }
  if (!isSide(width) || !isSide(height)) {
    throw new Error(`The floor plan's \`width\` and \`height\` have to be from 1 to ${MOST_SIDE}.`);
  }
  if (!isObject(shapes)) throw new Error("The floor plan's `shapes` are no object.");
  return {
    image,
    width,
    height,
    location: typeof location === "string" ? location : null,
    shapes: new Map(Object.entries(shapes).map(([id, one]) => [id, readShape(id, one)])),
  };
}

function isSide(value: Json | undefined): value is number {
  return typeof value === "number" && value >= 1 && value <= MOST_SIDE;
}

function readShape(id: string, value: Json): Shape {
  const isOne =
    Array.isArray(value) &&
    (value.length === 1 || value.length > 2) &&
    value.every((one) => Array.isArray(one) && one.length === 2 && one.every(isNumber));
  if (!isOne) {
    throw new Error(
      `The floor plan's shape of ${id} is none: it has to be an array of one position [x, y], or ` +
        "of three and more, which are the corners of an area.",
    );
  }
  return value as unknown as Shape;
}

function isNumber(value: Json): boolean {
  return typeof value === "number" && Number.isFinite(value);
}

/** The content of the workspace that keeps a plan. */
export function renderPlan(plan: Plan): Content {
  const shapes: JsonObject = Object.fromEntries(
    [...plan.shapes].map(([id, shape]) => [id, shape.map(([x, y]) => [round(x), round(y)])]),
  );
  return { ...plan, kind: "plan", version: 1, shapes };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

export interface Merged {
  shapes: Shapes;
  /** Twins that both have changed, where mine holds. */
  both: string[];
}

/** Their shapes with what I have changed since both were the same. */
export function mergeShapes(base: Shapes, mine: Shapes, theirs: Shapes): Merged {
  const shapes = new Map(theirs);
  const both: string[] = [];
  for (const id of new Set([...base.keys(), ...mine.keys()])) {
    const [before, my, their] = [base.get(id), mine.get(id), theirs.get(id)];
    if (isSameShape(before, my)) continue;
    if (!isSameShape(before, their) && !isSameShape(my, their)) both.push(id);
    if (my === undefined) shapes.delete(id);
    else shapes.set(id, my);
  }
  return { shapes, both };
}

function isSameShape(one: Shape | undefined, other: Shape | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.length === other.length &&
    one.every(([x, y], at) => {
      const [otherX, otherY] = other[at] ?? [NaN, NaN];
      return round(x) === round(otherX) && round(y) === round(otherY);
    })
  );
}

/** Where the name of a shape stands: the middle of its box, of a point the point. */
export function middleOf(shape: Shape): At {
  const { left, top, width, height } = boxOf(shape);
  return [left + width / 2, top + height / 2];
}

export function boxOf(shape: Shape): { left: number; top: number; width: number; height: number } {
  const [xs, ys] = [shape.map(([x]) => x), shape.map(([, y]) => y)];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  return { left, top, width: Math.max(...xs) - left, height: Math.max(...ys) - top };
}

/** The same elsewhere, as far as it stays on the plan. */
export function moveShape(
  shape: Shape,
  [across, down]: At,
  { width, height }: { width: number; height: number },
): Shape {
  const box = boxOf(shape);
  const x = clamp(across, -box.left, width - box.left - box.width);
  const y = clamp(down, -box.top, height - box.top - box.height);
  return shape.map(([left, top]) => [left + x, top + y]);
}

export function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}

export type Tool = "point" | "rectangle" | "area";

/** The shape that corners make with a tool, once there are enough of them; null until then. */
export function finishShape(tool: Tool, corners: readonly At[], isDone: boolean): Shape | null {
  const [first, second] = corners;
  if (first === undefined) return null;
  if (tool === "point") return [first];
  if (tool === "area") return isDone && corners.length > 2 ? corners : null;
  if (second === undefined || first[0] === second[0] || first[1] === second[1]) return null;
  return [first, [second[0], first[1]], second, [first[0], second[1]]];
}
