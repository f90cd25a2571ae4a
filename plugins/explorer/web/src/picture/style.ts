import type { Json, JsonObject, Twin } from "../api/types";
import { renderJson } from "../api/json";
import type { ModelIndex } from "../models/index";
import { valueAt } from "../results/columns";
import { labelOf, modelOf } from "./model";

/** How a model is drawn; what is not said follows from the model itself. */
export interface ModelStyle {
  /** `#rrggbb`. */
  color?: string;
  /** One of `ICON_NAMES`. */
  icon?: string;
  /** How large against the others; 1 is usual. */
  size?: number;
  /** The property that is written beside its twins, by dots; `$dtId` is the id. */
  caption?: string;
}

export interface RelationshipStyle {
  color?: string;
}

interface AnyRule {
  /** A property by dots, such as `climate.temperature`. */
  property: string;
  /** The model whose twins, and those of models that extend it, it is for; null is all. */
  model: string | null;
}

/** Colours from `low` at `from` to `high` at `to`, and these beyond. */
export interface ScaleRule extends AnyRule {
  kind: "scale";
  from: number;
  to: number;
  low: string;
  high: string;
}

export const OPERATORS = ["=", "!=", ">", ">=", "<", "<="] as const;
export type Operator = (typeof OPERATORS)[number];

/** One colour where the value compares so. */
export interface ValueRule extends AnyRule {
  kind: "value";
  operator: Operator;
  value: string;
  color: string;
}

export type Rule = ScaleRule | ValueRule;

/** How pictures of a graph are drawn: plain JSON, which can be kept and handed on. */
export interface Style {
  version: 1;
  /** By DTMI. */
  models: Readonly<Record<string, ModelStyle>>;
  /** By name. */
  relationships: Readonly<Record<string, RelationshipStyle>>;
  /** The first that a twin fits gives its colour. */
  rules: readonly Rule[];
}

export const PLAIN: Style = { version: 1, models: {}, relationships: {}, rules: [] };

/** Sizes that are offered, by their names. */
export const SIZES = { small: 0.7, usual: 1, large: 1.5, "very large": 2.2 } as const;
const [LEAST_SIZE, MOST_SIZE] = [0.3, 4];

/** A member that is there, whatever it is called: `constructor` may be the name of a relationship. */
export function memberOf<Value>(
  record: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** What is written beside a twin: a property by dots, or its name where it has none of that. */
export function captionOf(id: string, twin: Twin | null, property: string | undefined): string {
  if (twin === null || property === undefined) return labelOf(id, twin);
  const value = valueAt(twin as JsonObject, property.split("."));
  if (value === undefined || value === null) return labelOf(id, twin);
  return typeof value === "string" ? value : renderJson(value);
}

/** What a twin is drawn with, wherever it is drawn: by its values, its model and what was chosen. */
export function dressTwin(
  id: string,
  twin: Twin | null,
  style: Style,
  index: Pick<ModelIndex, "color" | "isA">,
): { label: string; color: string } {
  const model = modelOf(twin);
  const isA = (one: string, base: string): boolean => index.isA(one, base);
  const ruled = twin === null ? null : colorByRules(style.rules, twin, isA);
  return {
    label: captionOf(id, twin, memberOf(style.models, model)?.caption),
    color: ruled ?? index.color(model),
  };
}

/** The colour of relationships of a name: the chosen one, or that of all that are called so. */
export function dressRelationship(
  name: string,
  style: Style,
  index: Pick<ModelIndex, "relationshipColor">,
): string {
  return memberOf(style.relationships, name)?.color ?? index.relationshipColor(name);
}

/** The colour that rules give a twin; null where none fits. `isA` as of `ModelIndex`. */
export function colorByRules(
  rules: readonly Rule[],
  twin: Twin,
  isA: (model: string, base: string) => boolean,
): string | null {
  for (const rule of rules) {
    if (rule.model !== null && !isA(twin.$metadata.$model, rule.model)) continue;
    const value = valueAt(twin as JsonObject, rule.property.split("."));
    const color = colorBy(rule, value);
    if (color !== null) return color;
  }
  return null;
}

function colorBy(rule: Rule, value: Json | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (rule.kind === "value") return compares(value, rule.operator, rule.value) ? rule.color : null;
  if (typeof value !== "number" && typeof value !== "bigint") return null;
  const span = rule.to - rule.from;
  const share = span === 0 ? 0 : (Number(value) - rule.from) / span;
  return mixColors(rule.low, rule.high, Math.min(1, Math.max(0, share)));
}

function compares(value: Json, operator: Operator, wanted: string): boolean {
  const order = orderOf(value, wanted.trim());
  if (order === null) return operator === "!=";
  switch (operator) {
    case "=":
      return order === 0;
    case "!=":
      return order !== 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
  }
}

/** How a value stands to what is written; null where they cannot be compared. */
function orderOf(value: Json, wanted: string): number | null {
  if (typeof value === "number" || typeof value === "bigint") {
    const other = Number(wanted === "" ? NaN : wanted);
    return Number.isNaN(other) ? null : Number(value) - other;
  }
  if (typeof value === "boolean") {
    if (wanted !== "true" && wanted !== "false") return null;
    return Number(value) - Number(wanted === "true");
  }
  if (typeof value !== "string") return null;
  return value === wanted ? 0 : value < wanted ? -1 : 1;
}

/** A colour between two `#rrggbb`, by the share of the second. */
export function mixColors(low: string, high: string, share: number): string {
  const channel = (at: number): string => {
    const [one, other] = [low, high].map((color) => parseInt(color.slice(at, at + 2), 16)) as [
      number,
      number,
    ];
    // Squares are close to shares of light: a mixture of two colours is not darker than both.
    const mixed = Math.sqrt((1 - share) * one ** 2 + share * other ** 2);
    return Math.round(mixed).toString(16).padStart(2, "0");
  };
  return `#${channel(1)}${channel(3)}${channel(5)}`;
}

const COLOR = /^#[0-9a-f]{6}$/i;

/** A style out of what was kept; what cannot be read of it is left out. */
export function readStyle(kept: unknown): Style {
  if (!isRecord(kept) || kept["version"] !== 1) return PLAIN;
  return {
    version: 1,
    models: readAll(kept["models"], (one) => ({
      ...readColor(one),
      ...(typeof one["icon"] === "string" ? { icon: one["icon"] } : {}),
      ...(isFinite(one["size"])
        ? { size: Math.min(MOST_SIZE, Math.max(LEAST_SIZE, one["size"])) }
        : {}),
      ...(typeof one["caption"] === "string" && one["caption"] !== ""
        ? { caption: one["caption"] }
        : {}),
    })),
    relationships: readAll(kept["relationships"], readColor),
    rules: (Array.isArray(kept["rules"]) ? (kept["rules"] as unknown[]) : []).flatMap(readRule),
  };
}

function readAll<Value>(
  kept: unknown,
  read: (one: Record<string, unknown>) => Value,
): Record<string, Value> {
  if (!isRecord(kept)) return {};
  return Object.fromEntries(
    Object.entries(kept).flatMap(([name, one]) => (isRecord(one) ? [[name, read(one)]] : [])),
  );
}

function readColor(one: Record<string, unknown>): { color?: string } {
  return isColor(one["color"]) ? { color: one["color"] } : {};
}

function readRule(kept: unknown): Rule[] {
  if (!isRecord(kept) || typeof kept["property"] !== "string") return [];
  const model = typeof kept["model"] === "string" ? kept["model"] : null;
  const { property, kind, from, to, low, high, operator, value, color } = kept;
  if (kind === "scale" && isFinite(from) && isFinite(to) && isColor(low) && isColor(high)) {
    return [{ kind, property, model, from, to, low, high }];
  }
  const known = OPERATORS.find((one) => one === operator);
  if (kind !== "value" || known === undefined || typeof value !== "string" || !isColor(color)) {
    return [];
  }
  return [{ kind, property, model, operator: known, value, color }];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isFinite(value: unknown): value is number {
  return Number.isFinite(value);
}

function isColor(value: unknown): value is string {
  return typeof value === "string" && COLOR.test(value);
}

/** A rule in words. `label` names a model. */
export function describeRule(rule: Rule, label: (model: string) => string): string {
  const what = rule.model === null ? rule.property : `${label(rule.model)}: ${rule.property}`;
  return rule.kind === "scale"
    ? `${what} from ${rule.from} to ${rule.to}`
    : `${what} ${rule.operator} ${rule.value}`;
}
