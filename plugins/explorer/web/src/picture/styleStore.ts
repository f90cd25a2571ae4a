import { create } from "zustand";

import { readStored, storageKey, writeStored, type Keeper } from "../query/storage";
import {
  memberOf,
  PLAIN,
  type ModelStyle,
  type RelationshipStyle,
  type Rule,
  type Style,
} from "./style";
import {
  changeStyle,
  findChanges,
  NO_CHANGES,
  readChanges,
  renderChanges,
  type StyleChanges,
} from "./styleLayers";

interface StyleState {
  /** How pictures are drawn: that of an open workspace, else that for everyone with what is changed here. */
  style: Style;
  /** The style of the graph for everyone. */
  shared: Style;
  /** What this browser keeps of changes to it. */
  own: StyleChanges;
  /** Whether it is the style of a workspace, which this browser does not keep. */
  isOfWorkspace: boolean;
  /** Take up what this browser keeps of the style of a graph. */
  open(keeper: Keeper): void;
  /** Draw by another style for everyone from now on; what is changed here stays on top. */
  share(style: Style): void;
  /** Draw by the style of a workspace from now on; null: no longer. */
  wear(style: Style | null): void;
  /** Draw by another style from now on, and keep it. */
  take(style: Style): void;
  /** Change how a model is drawn; what is undefined follows from the model again. */
  styleModel(id: string, part: { [Name in keyof ModelStyle]: ModelStyle[Name] | undefined }): void;
  styleRelationship(name: string, color: string | undefined): void;
  setRules(rules: readonly Rule[]): void;
  /** Forget what is changed here. */
  reset(): void;
}

let key: string | null = null;

/** How pictures of the graph that is looked at are drawn. */
export const useStyle = create<StyleState>((set, get) => ({
  style: PLAIN,
  shared: PLAIN,
  own: NO_CHANGES,
  isOfWorkspace: false,
  open: (keeper) => {
    const wanted = storageKey(keeper, "style");
    if (wanted === key) return;
    key = wanted;
    const own = readChanges(readStored(wanted));
    set({ own, shared: PLAIN, style: changeStyle(PLAIN, own), isOfWorkspace: false });
  },
  share: (shared) => {
    const { shared: before, own, isOfWorkspace } = get();
    if (shared === before) return;
    set({ shared, ...(isOfWorkspace ? {} : { style: changeStyle(shared, own) }) });
  },
  wear: (style) => {
    const { shared, own } = get();
    set({ style: style ?? changeStyle(shared, own), isOfWorkspace: style !== null });
  },
  take: (style) => {
    set({ style });
    const { shared, isOfWorkspace } = get();
    if (isOfWorkspace) return;
    const own = findChanges(shared, style);
    set({ own });
    // NOTE: where the browser refuses, it holds until the page is left.
    if (key !== null) writeStored(key, renderChanges(own));
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
  reset: () => get().take(get().shared),
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
