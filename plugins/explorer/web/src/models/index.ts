import type { ModelEntry } from "../api/types";
import { assignColors, NEUTRAL, sharedColor } from "./colors";
import {
  nameOf,
  readInterface,
  readReference,
  type ContentInfo,
  type InterfaceInfo,
} from "./interfaces";

export { nameOf, textOf } from "./interfaces";
export type { ContentInfo, ContentKind, InterfaceInfo } from "./interfaces";

/** Icons that are chosen by a word in the name of an interface or of one of its bases. */
const ICONS: readonly [RegExp, string][] = [
  [/sensor|detector|meter|thermostat/i, "gauge"],
  [/building|campus|site/i, "building-2"],
  [/level|floor|storey/i, "layers"],
  [/room|office|space|zone|corridor/i, "door-open"],
  [/equipment|machine|pump|chiller|unit|valve|fan|device|terminal/i, "cog"],
  [/person|people|user|agent|tenant|organization/i, "user"],
  [/address|point|location|geo/i, "map-pin"],
  [/document|file|report/i, "file-text"],
  [/event|alarm|alert/i, "bell"],
  [/network|gateway|router|controller/i, "router"],
  [/light|lamp|luminaire/i, "lightbulb"],
];

/** What somebody has chosen for a model. */
export interface Chosen {
  color?: string;
  icon?: string;
}

/** What the stored models say, for every view. Built once for a list of models; immutable. */
export class ModelIndex {
  readonly interfaces: ReadonlyMap<string, InterfaceInfo>;
  private readonly direct = new Map<string, string[]>();
  private readonly above = new Map<string, string[]>();
  /** The colours of models by DTMI, of relationships by `relationshipKey`; none that was chosen. */
  readonly colors: ReadonlyMap<string, string>;
  private chosen: Readonly<Record<string, Chosen>> = {};

  /** `known` are colours that were given before: who has one keeps it. */
  constructor(
    models: readonly ModelEntry[],
    languages: readonly string[] = [],
    known: ReadonlyMap<string, string> = new Map(),
  ) {
    const read = new Map(models.map((entry) => [entry.id, readInterface(entry, languages)]));
    for (const one of read.values()) {
      for (const base of one.extends) {
        this.direct.set(base, [...(this.direct.get(base) ?? []), one.id]);
      }
    }
    this.interfaces = read;
    for (const one of read.values()) {
      const bases = this.ancestors(one.id).flatMap((id) => read.get(id)?.own ?? []);
      const seen = new Set<string>();
      one.contents = [...one.own, ...bases].filter(
        (content) => !seen.has(content.name) && seen.add(content.name),
      );
    }
    for (const heirs of this.direct.values()) heirs.sort(this.byLabel);
    this.colors = new Map([
      ...assignColors(this.inOrderOfColors(), known),
      ...assignColors(this.listRelationshipKeys(), known),
    ]);
  }

  /** The same with what was chosen for models, by DTMI. */
  dress(chosen: Readonly<Record<string, Chosen>>): ModelIndex {
    const dressed = Object.create(this) as ModelIndex;
    dressed.chosen = chosen;
    return dressed;
  }

  /** Interfaces that extend none that is known, by name. */
  roots(): string[] {
    return [...this.interfaces.values()]
      .filter((one) => !one.extends.some((base) => this.interfaces.has(base)))
      .map((one) => one.id)
      .sort(this.byLabel);
  }

  /** Those that extend it directly, by name. */
  heirs(id: string): string[] {
    return this.direct.get(id) ?? [];
  }

  /** It and all that extend it, however far below; each once. */
  family(id: string): string[] {
    const found = new Set([id]);
    for (const one of found) for (const heir of this.heirs(one)) found.add(heir);
    return [...found];
  }

  /** All it extends, nearest first; each once, whatever the documents say. */
  ancestors(id: string): string[] {
    const known = this.above.get(id);
    if (known !== undefined) return known;
    const found = new Set<string>();
    let level = [id];
    while (level.length > 0) {
      const next = level.flatMap((one) => this.interfaces.get(one)?.extends ?? []);
      // PERF: each once, as bases of common bases would double with every level.
      level = [...new Set(next)].filter((one) => one !== id && !found.has(one));
      for (const one of level) found.add(one);
    }
    const listed = [...found];
    this.above.set(id, listed);
    return listed;
  }

  /** Whether `id` is `base` or extends it. */
  isA(id: string, base: string): boolean {
    return id === base || this.ancestors(id).includes(base);
  }

  /** An effective content by its name. */
  content(id: string, name: string): ContentInfo | undefined {
    return this.interfaces.get(id)?.contents.find((one) => one.name === name);
  }

  /** The relationships that a twin of `source` may have to one of `target`. */
  relationshipsBetween(source: string, target: string): ContentInfo[] {
    return (this.interfaces.get(source)?.contents ?? []).filter(
      (one) =>
        one.kind === "Relationship" && (one.target === undefined || this.isA(target, one.target)),
    );
  }

  /** The other interfaces that name it as a base or as a component: while one does, it stays. */
  referrers(id: string): string[] {
    return [...this.interfaces.values()]
      .filter((one) => one.id !== id && needsOf(one).includes(id))
      .map((one) => one.id)
      .sort(this.byLabel);
  }

  /** Those of these that are known, with all that they extend and have as components. */
  withNeeds(ids: Iterable<string>): InterfaceInfo[] {
    const found = new Set(ids);
    for (const id of found) {
      const one = this.interfaces.get(id);
      if (one !== undefined) for (const other of needsOf(one)) found.add(other);
    }
    return [...found].flatMap((id) => this.interfaces.get(id) ?? []);
  }

  /** What a reader calls it. */
  label(id: string): string {
    return this.interfaces.get(id)?.displayName ?? nameOf(id);
  }

  /** The label that queries give it: the last name of its DTMI. */
  queryLabel(id: string): string {
    return nameOf(id);
  }

  /** A colour as CSS hex, legible on light and on dark: its own, while there are enough. */
  color(id: string): string {
    return this.ownChoice(id)?.color ?? this.plainColor(id);
  }

  /** The colour that it has where none is chosen. */
  plainColor(id: string): string {
    return this.colors.get(id) ?? (id === "" ? NEUTRAL : sharedColor(id));
  }

  /** The colour of a relationship by its name, where none is chosen. */
  relationshipColor(name: string): string {
    const key = relationshipKey(name);
    return this.colors.get(key) ?? sharedColor(key);
  }

  /** A name of lucide's icons, chosen by the names of it and its bases; `box` where none fits. */
  icon(id: string): string {
    const { icon } = this.ownChoice(id) ?? {};
    if (icon !== undefined) return icon;
    for (const one of [id, ...this.ancestors(id)]) {
      const found = ICONS.find(([pattern]) => pattern.test(nameOf(one)));
      if (found !== undefined) return found[1];
    }
    return "box";
  }

  private ownChoice(id: string): Chosen | undefined {
    return Object.hasOwn(this.chosen, id) ? this.chosen[id] : undefined;
  }

  private listRelationshipKeys(): string[] {
    const names = [...this.interfaces.values()].flatMap(({ own }) =>
      own.flatMap(({ kind, name }) => (kind === "Relationship" ? [relationshipKey(name)] : [])),
    );
    return [...new Set(names)].sort(compare);
  }

  /** Those that twins are of mostly, which are at the ends of the tree, before those they extend. */
  private inOrderOfColors(): string[] {
    const isLeaf = (id: string): boolean => this.heirs(id).length === 0;
    const ids = [...this.interfaces.keys()].sort(compare);
    return [...ids.filter(isLeaf), ...ids.filter((id) => !isLeaf(id))];
  }

  private readonly byLabel = (one: string, other: string): number =>
    this.label(one).localeCompare(this.label(other)) || compare(one, other);
}

/** What an interface extends and has as components, by its own document. */
function needsOf({ extends: bases, own }: InterfaceInfo): string[] {
  const parts = own.filter((one) => one.kind === "Component");
  return [...bases, ...parts.flatMap((one) => readReference(one.schema ?? null).slice(0, 1))];
}

/** Under what the colour of a relationship is kept; no DTMI has this. */
function relationshipKey(name: string): string {
  return `[${name}]`;
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
