import type { ModelEntry } from "../api/types";
import { nameOf, readInterface, type ContentInfo, type InterfaceInfo } from "./interfaces";

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

/** What the stored models say, for every view. Built once for a list of models; immutable. */
export class ModelIndex {
  readonly interfaces: ReadonlyMap<string, InterfaceInfo>;
  private readonly direct = new Map<string, string[]>();
  private readonly above = new Map<string, string[]>();
  private readonly ranks: ReadonlyMap<string, number>;

  constructor(models: readonly ModelEntry[], languages: readonly string[] = []) {
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
    const inOrder = [...models].sort(
      (one, other) => compare(one.uploadTime, other.uploadTime) || compare(one.id, other.id),
    );
    this.ranks = new Map(inOrder.map((entry, rank) => [entry.id, rank]));
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

  /** What a reader calls it. */
  label(id: string): string {
    return this.interfaces.get(id)?.displayName ?? nameOf(id);
  }

  /** The label that queries give it: the last name of its DTMI. */
  queryLabel(id: string): string {
    return nameOf(id);
  }

  /** A colour of its own as CSS hex, legible on light and on dark. */
  color(id: string): string {
    // NOTE: ranks go by the time of upload: models that come later leave the others their colours.
    const rank = this.ranks.get(id) ?? hashOf(id);
    // Hues by the golden angle: those of neighbouring ranks lie far apart, however many there are.
    return toHex((rank * 137.508) % 360, 0.72 - (rank % 3) * 0.14, 0.46 + (rank % 2) * 0.08);
  }

  /** A name of lucide's icons, chosen by the names of it and its bases; `box` where none fits. */
  icon(id: string): string {
    for (const one of [id, ...this.ancestors(id)]) {
      const found = ICONS.find(([pattern]) => pattern.test(nameOf(one)));
      if (found !== undefined) return found[1];
    }
    return "box";
  }

  private readonly byLabel = (one: string, other: string): number =>
    this.label(one).localeCompare(this.label(other)) || compare(one, other);
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function hashOf(text: string): number {
  let hash = 2166136261;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  }
  return hash >>> 0;
}

function toHex(hue: number, saturation: number, lightness: number): string {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number) => {
    const at = (offset + hue / 30) % 12;
    const value = lightness - reach * Math.max(-1, Math.min(at - 3, 9 - at, 1));
    return Math.round(value * 255)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
}
