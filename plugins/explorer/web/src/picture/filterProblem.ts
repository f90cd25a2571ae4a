import type { Json } from "../api/types";
import type { ModelIndex } from "../models/index";
import { valueAt } from "../results/columns";
import { isObject } from "../results/documents";
import { readConditions, type Condition } from "./filter";
import { modelOf, type Contents } from "./model";

/** So far apart names may be, in letters, to be taken for each other; of short ones a third. */
const MOST_APART = 3;

/**
 * Why a filter cannot be meant as it is written: half a condition, or a name that no twin of the
 * picture has, nor its model. Null is nothing: it may be applied.
 */
export function findProblem(text: string, contents: Contents, index: ModelIndex): string | null {
  for (const condition of readConditions(text)) {
    const { path, operator, wanted } = condition;
    if (path === "")
      return `Before ${operator} the name of a property is missing: area${operator}…`;
    const known = isKnown(condition, contents, index);
    // NOTE: with a colon it may be a word, such as a DTMI.
    if (!known && operator !== ":") {
      const nearest = findNearest(path, listNames(contents, index));
      const hint = nearest === null ? "" : ` Did you mean ${nearest}?`;
      return `No twin here has a member ${path}.${hint}`;
    }
    if (known && wanted === "") return `After ${path}${operator} a value is missing.`;
  }
  return null;
}

function isKnown({ path }: Condition, { nodes }: Contents, index: ModelIndex): boolean {
  const names = path.split(".");
  const models = new Set<string>();
  for (const twin of nodes.values()) {
    if (twin === null) continue;
    if (valueAt(twin, names) !== undefined) return true;
    models.add(modelOf(twin));
  }
  // What no twin has a value of may still be a property of theirs.
  return [...models].some((model) => isModelled(names, model, index));
}

function isModelled(names: readonly string[], model: string, index: ModelIndex): boolean {
  const [first, ...rest] = names;
  const content = first === undefined ? undefined : index.content(model, first);
  if (content?.kind === "Component" && typeof content.schema === "string" && rest.length > 0) {
    return isModelled(rest, content.schema, index);
  }
  // What a map or an object holds is not looked into: a key that is not there is none by mistake.
  return content?.kind === "Property";
}

/** The names that a filter may ask for, with those within others. */
function listNames({ nodes }: Contents, index: ModelIndex): ReadonlySet<string> {
  const names = new Set<string>();
  const add = (value: Json | undefined, above: string): void => {
    if (!isObject(value)) return;
    for (const [name, inner] of Object.entries(value)) {
      names.add(`${above}${name}`);
      if (!name.startsWith("$")) add(inner, `${above}${name}.`);
    }
  };
  const models = new Set<string>();
  for (const twin of nodes.values()) {
    if (twin === null) continue;
    add(twin, "");
    models.add(modelOf(twin));
  }
  for (const model of models) {
    for (const { kind, name } of index.interfaces.get(model)?.contents ?? []) {
      if (kind === "Property") names.add(name);
    }
  }
  return names;
}

/** The name that a mistyped one is likely to be; null where none is near. */
export function findNearest(name: string, names: Iterable<string>): string | null {
  const lower = name.toLowerCase();
  let least = Math.min(MOST_APART, Math.ceil(name.length / 3)) + 1;
  let nearest: string | null = null;
  for (const one of names) {
    const apart = countEdits(lower, one.toLowerCase());
    if (apart >= least) continue;
    least = apart;
    nearest = one;
  }
  return nearest;
}

/** How many letters have to be added, left out or changed to make one text the other. */
function countEdits(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const changed = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
