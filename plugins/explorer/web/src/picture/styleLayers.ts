import { isSame } from "../api/json";
import type { Json } from "../api/types";
import {
  memberOf,
  PLAIN,
  readStyle,
  type ModelStyle,
  type RelationshipStyle,
  type Rule,
  type Style,
} from "./style";

type Entries<Value> = Readonly<Record<string, Value>>;

/** What one browser draws otherwise than a style says: entries of its own; null takes one away. */
export interface StyleChanges {
  models: Entries<ModelStyle | null>;
  relationships: Entries<RelationshipStyle | null>;
  /** Rules of its own in place of all others; null follows those of the style. */
  rules: readonly Rule[] | null;
}

export const NO_CHANGES: StyleChanges = { models: {}, relationships: {}, rules: null };

export function isUnchanged({ models, relationships, rules }: StyleChanges): boolean {
  const entries = Object.keys(models).length + Object.keys(relationships).length;
  return entries === 0 && rules === null;
}

/** A style with the changes of a browser on top. */
export function changeStyle(base: Style, changes: StyleChanges): Style {
  return {
    version: 1,
    models: put(base.models, changes.models),
    relationships: put(base.relationships, changes.relationships),
    rules: changes.rules ?? base.rules,
  };
}

/** What has to be changed of a style so that it is the other one. */
export function findChanges(base: Style, style: Style): StyleChanges {
  return {
    models: differ(base.models, style.models),
    relationships: differ(base.relationships, style.relationships),
    rules: isSame(asJson(base.rules), asJson(style.rules)) ? null : style.rules,
  };
}

/** Changes as a browser keeps them. What it kept before there was a style for everyone is all its own. */
export function renderChanges(changes: StyleChanges): object {
  return { ...changes, version: 2 };
}

export function readChanges(kept: unknown): StyleChanges {
  const { version, models, relationships, rules } = (kept ?? {}) as Record<string, unknown>;
  if (version !== 1 && version !== 2) return NO_CHANGES;
  const read = readStyle({ version: 1, models, relationships, rules });
  const owns = version === 2 ? Array.isArray(rules) : read.rules.length > 0;
  return {
    models: { ...listRemoved(models), ...read.models },
    relationships: { ...listRemoved(relationships), ...read.relationships },
    rules: owns ? read.rules : null,
  };
}

export function isPlain(style: Style): boolean {
  return isUnchanged(findChanges(PLAIN, style));
}

function put<Value>(base: Entries<Value>, changes: Entries<Value | null>): Entries<Value> {
  const kept = Object.entries(base).filter(([name]) => !Object.hasOwn(changes, name));
  const own = Object.entries(changes).filter((one): one is [string, Value] => one[1] !== null);
  return Object.fromEntries([...kept, ...own]);
}

function differ<Value extends object>(
  base: Entries<Value>,
  other: Entries<Value>,
): Record<string, Value | null> {
  const names = new Set([...Object.keys(base), ...Object.keys(other)]);
  return Object.fromEntries(
    [...names].flatMap((name) => {
      const [before, after] = [memberOf(base, name), memberOf(other, name)];
      const same = isSame(asJson(before ?? null), asJson(after ?? null));
      return same ? [] : [[name, after ?? null] as const];
    }),
  );
}

function listRemoved(entries: unknown): Record<string, null> {
  if (typeof entries !== "object" || entries === null) return {};
  const removed = Object.entries(entries).filter(([, value]) => value === null);
  return Object.fromEntries(removed.map(([name]) => [name, null]));
}

/** Styles are plain JSON, though their types are narrower. */
function asJson(value: object | null): Json {
  return value as Json;
}
