import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { snippetCompletion } from "@codemirror/autocomplete";

import type { Dialect, LanguageFunction, LanguageWords } from "../api/types";
import { readContext, type Context } from "./context";
import type { QuerySchema, SchemaProperty } from "./schema";
import { detectLanguage, type QueryLanguage } from "./tokens";

/** What completion knows beside the text. */
export interface Known {
  schema: QuerySchema;
  /** Null until `language.json` has come. */
  words: LanguageWords | null;
  parameters: string[];
}

export interface Offer {
  from: number;
  options: Completion[];
}

const PLAIN = /^[\p{L}_][\p{L}\p{N}_]*$/u;

/** What may stand at a place of a text; null where nothing is known. */
export function completeAt(text: string, at: number, known: Known): Offer | null {
  const language = detectLanguage(text);
  const context = readContext(text, at, language);
  const options = offer(context, known, language);
  return options.length === 0 ? null : { from: startOf(context, text), options };
}

/** For CodeMirror. */
export function completionSource(known: Known) {
  return (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    const found = completeAt(text, context.pos, known);
    if (found === null) return null;
    // Without a key only where something was begun, so that a blank line is left alone.
    const begun = found.from < context.pos || /[.:$|&]$/.test(text.slice(0, context.pos));
    if (!begun && !context.explicit) return null;
    return { ...found, validFor: /^[$`]?[\p{L}\p{N}_]*$/u };
  };
}

function startOf(context: Context, text: string): number {
  // A DTMI is written within its quotes.
  return context.wanted.what === "model" && /['"]/.test(text[context.from] ?? "")
    ? context.from + 1
    : context.from;
}

function offer(context: Context, known: Known, language: QueryLanguage): Completion[] {
  const { wanted } = context;
  const { schema } = known;
  switch (wanted.what) {
    case "nothing":
      return [];
    case "label":
      return [...schema.labels].map(([name, ids]) => ({
        ...spelled(name, language),
        type: "class",
        detail: ids.length === 1 ? (ids[0] ?? "") : `${ids.length} models`,
      }));
    case "relationship":
      return [...schema.relationships.values()].map((one) => ({
        ...spelled(one.name, language),
        type: "interface",
        detail: `${one.sources.join(", ")} → ${one.targets.join(", ") || "anything"}`,
      }));
    case "model":
      return [...schema.labels.values()].flat().map((id) => ({ label: id, type: "class" }));
    case "parameter":
      return known.parameters.map((name) => ({ label: `$${name}`, type: "constant" }));
    case "member":
      return membersOf(wanted.path, context, known, language);
    case "word":
      return words(context, known, language);
  }
}

function membersOf(
  path: string[],
  context: Context,
  { schema, words: all }: Known,
  language: QueryLanguage,
): Completion[] {
  const words = all?.[language];
  const [name = "", first, ...deeper] = path;
  if (deeper.length > 0 || first?.startsWith("$")) {
    return first === "$metadata" && deeper.length === 0
      ? ["$model", "$lastUpdateTime"].map(system)
      : [];
  }
  const variable = context.variables.get(name);
  if (first !== undefined) return [];
  if (variable?.kind === "relationship") return ofRelationship(variable.labels, schema, language);
  if (variable?.kind === "other") return [];
  if (variable === undefined && language === "cypher") return functionsBehind(name, words);
  const labels = variable?.labels ?? [];
  const known = labels.flatMap((label) => schema.propertiesOf(label));
  const members = known.length > 0 ? unique(known) : schema.all;
  return [
    ...members.map((one) => property(one, language)),
    ...["$dtId", "$metadata", "$etag"].map(system),
  ];
}

/** A name that is no variable may be the first word of a function such as `date.truncate`. */
function functionsBehind(name: string, words: Dialect | undefined): Completion[] {
  const prefix = `${name.toLowerCase()}.`;
  return (words?.functions ?? [])
    .filter((one) => one.name.toLowerCase().startsWith(prefix))
    .map((one) => called(one, one.name.slice(prefix.length)));
}

// The arguments are written between the brackets; without any there is nothing to write.
function called(one: LanguageFunction, label: string): Completion {
  const none = /\(\s*\)/.test(one.signature);
  return snippetCompletion(none ? `${label}()` : `${label}(\${})`, {
    label,
    type: "function",
    detail: one.signature.slice(one.name.length),
    info: one.documentation,
  });
}

function ofRelationship(
  names: string[],
  schema: QuerySchema,
  language: QueryLanguage,
): Completion[] {
  const known = names.length > 0 ? names : [...schema.relationships.keys()];
  const properties = known.flatMap((name) => schema.relationships.get(name)?.properties ?? []);
  return [
    ...unique(properties).map((one) => property(one, language)),
    ...["$relationshipName", "$relationshipId", "$sourceId", "$targetId", "$etag"].map(system),
  ];
}

function words(context: Context, known: Known, language: QueryLanguage): Completion[] {
  const dialect: Dialect | undefined = known.words?.[language];
  const variables = [...context.variables].map(([label, one]): Completion => ({
    label,
    type: "variable",
    detail: one.labels.join(" | ") || (one.kind === "other" ? "" : one.kind),
    boost: 20,
  }));
  const keywords = (dialect?.keywords ?? []).map((label): Completion => ({
    label,
    type: "keyword",
    boost: 5,
  }));
  const functions = (dialect?.functions ?? []).map((one) => called(one, one.name));
  const unprefixed = language === "adt" ? adtMembers(context, known.schema) : [];
  return [...variables, ...unprefixed, ...keywords, ...functions];
}

/** Over one collection the vendor's language leaves the alias out. */
function adtMembers(context: Context, schema: QuerySchema): Completion[] {
  return context.variables.size > 1 ? [] : schema.all.map((one) => property(one, "adt"));
}

function property(one: SchemaProperty, language: QueryLanguage): Completion {
  return {
    ...spelled(one.name, language),
    type: "property",
    detail: one.type,
    ...(one.description === "" ? {} : { info: one.description }),
    boost: 10,
  };
}

function system(name: string): Completion {
  return { label: name, type: "constant" };
}

function unique(properties: SchemaProperty[]): SchemaProperty[] {
  return [...new Map(properties.map((one) => [one.name, one])).values()];
}

/** A name as the language wants it where it is none by itself. */
function spelled(name: string, language: QueryLanguage): { label: string; apply?: string } {
  if (PLAIN.test(name)) return { label: name };
  const quoted = language === "cypher" ? `\`${name.replaceAll("`", "``")}\`` : `[[${name}]]`;
  return { label: name, apply: quoted };
}
