import { create } from "zustand";

import { readStored, storageKey, writeStored, type Keeper } from "../query/storage";
import {
  memberOf,
  PLAIN,
  readStyle,
  type ModelStyle,
  type RelationshipStyle,
  type Rule,
  type Style,
} from "./style";

interface StyleState {
  style: Style;
  /** Take up what this browser keeps of the style of a graph. */
  open(keeper: Keeper): void;
  /** Draw by another style from now on, and keep it. */
  take(style: Style): void;
  /** Change how a model is drawn; what is undefined follows from the model again. */
  styleModel(id: string, part: { [Name in keyof ModelStyle]: ModelStyle[Name] | undefined }): void;
  styleRelationship(name: string, color: string | undefined): void;
  setRules(rules: readonly Rule[]): void;
}

let key: string | null = null;

/** How pictures of the graph that is looked at are drawn. */
export const useStyle = create<StyleState>((set, get) => ({
  style: PLAIN,
  open: (keeper) => {
    const wanted = storageKey(keeper, "style");
    if (wanted === key) return;
    key = wanted;
    set({ style: readStyle(readStored(wanted)) });
  },
  take: (style) => {
    set({ style });
    // NOTE: where the browser refuses, it holds until the page is left.
    if (key !== null) writeStored(key, style);
  },
  styleModel: (id, part) => {
    const { style, take } = get();
    const models = changeEntry<ModelStyle>(style.models, id, part);
    take({ ...style, models });
  },
  styleRelationship: (name, color) => {
    const { style, take } = get();
    const relationships = changeEntry<RelationshipStyle>(style.relationships, name, { color });
    take({ ...style, relationships });
  },
  setRules: (rules) => get().take({ ...get().style, rules }),
}));

/** The same entries with one of them changed; it goes when nothing is left of it. */
function changeEntry<Value extends object>(
  entries: Readonly<Record<string, Value>>,
  name: string,
  part: { [Name in keyof Value]?: Value[Name] | undefined },
): Record<string, Value> {
  const merged = { ...memberOf(entries, name), ...part };
  const said = Object.entries(merged).filter(([, value]) => value !== undefined);
  const others = Object.entries(entries).filter(([other]) => other !== name);
  const own = said.length === 0 ? [] : [[name, Object.fromEntries(said)] as const];
  return Object.fromEntries([...others, ...own]) as Record<string, Value>;
}
