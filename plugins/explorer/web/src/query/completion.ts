import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { snippetCompletion } from "@codemirror/autocomplete";

import type { Dialect, LanguageFunction, LanguageWords } from "../api/types";
import { readContext, type Compared, type Context, type Variable } from "./context";
import { valuesOf, type QuerySchema, type SchemaProperty } from "./schema";
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
  /** Whether they may be shown before anything of them is written. */
  eager: boolean;
}

const PLAIN = /^[\p{L}_][\p{L}\p{N}_]*$/u;

/** What may stand at a place of a text; null where nothing is known. */
export function completeAt(text: string, at: number, known: Known): Offer | null {
  const language = detectLanguage(text);
  const context = readContext(text, at, language);
  const begun = text.slice(context.from, at);
  const options = offer(context, begun, known, language);
  const eager = context.wanted.what !== "word";
  return options.length === 0 ? null : { from: startOf(context, text), options, eager };
}

/** For CodeMirror. */
export function completionSource(known: Known) {
  return (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    const found = completeAt(text, context.pos, known);
    if (found === null) return null;
    // Without a key only where something was begun, so that a blank line is left alone.
    const { from, options, eager } = found;
    const begun = from < context.pos || (eager && /[.:$|&{'"]$/.test(text.slice(0, context.pos)));
    if (!begun && !context.explicit) return null;
    // Which words there are depends on what is begun of them.
    return eager ? { from, options, validFor: /^[$`]?[\p{L}\p{N}_]*$/u } : { from, options };
  };
}

function startOf(context: Context, text: string): number {
  // What is a text is written within its quotes.
  const isText = context.wanted.what === "model" || context.wanted.what === "value";
  return isText && /['"]/.test(text[context.from] ?? "") ? context.from + 1 : context.from;
}

function offer(
  context: Context,
  begun: string,
  known: Known,
  language: QueryLanguage,
): Completion[] {
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
    case "key":
      return propertiesOf(wanted.of, schema).map((one) => property(one, language));
    case "value":
      return values(wanted.compared, schema, false);
    case "word":
      return [
        ...(wanted.compared === undefined ? [] : values(wanted.compared, schema, true)),
        ...words(context, known, language).filter((one) => begins(one.label, begun)),
      ];
  }
}

function membersOf(
  path: string[],
  context: Context,
  { schema, words: all }: Known,
  language: QueryLanguage,
): Completion[] {
  const words = all?.[language];
  const [name = "", ...members] = path;
  const variable = context.variables.get(name);
  if (members.length > 0) {
    if (members.at(-1) === "$metadata") {
      return members.length === 1 ? ["$model", "$lastUpdateTime"].map(system) : [];
    }
    const found = findMember({ of: variable, path: members }, schema);
    const inner = unique(found.flatMap((one) => schema.membersOf(one)));
    const isComponent = found.some((one) => one.component);
    return [
      ...inner.map((one) => property(one, language)),
      ...(isComponent ? [system("$metadata")] : []),
    ];
  }
  if (variable?.kind === "relationship") return ofRelationship(variable.labels, schema, language);
  if (variable?.kind === "other") return [];
  if (variable === undefined && language === "cypher") return functionsBehind(name, words);
  return [
    ...propertiesOf(variable, schema).map((one) => property(one, language)),
    ...["$dtId", "$metadata", "$etag"].map(system),
  ];
}

/** What a variable may have: of no label that is known, what any twin may. */
function propertiesOf(variable: Variable | undefined, schema: QuerySchema): SchemaProperty[] {
  if (variable?.kind === "relationship") return relationshipProperties(variable.labels, schema);
  const known = (variable?.labels ?? []).flatMap((label) => schema.propertiesOf(label));
  return known.length > 0 ? unique(known) : schema.all;
}

/** What a path of names may lead to, by all the models that may be meant. */
function findMember({ of, path }: Compared, schema: QuerySchema): SchemaProperty[] {
  const [first = "", ...deeper] = path;
  if (of?.kind === "other") return [];
  const isKnown = of?.kind === "relationship" || of?.labels.some((one) => schema.labels.has(one));
  const begin = isKnown ? propertiesOf(of, schema) : schema.named(first);
  return deeper.reduce(
    (found, name) => found.flatMap((one) => schema.membersOf(one)).filter(isCalled(name)),
    begin.filter(isCalled(first)),
  );
}

function isCalled(name: string): (one: SchemaProperty) => boolean {
  return (one) => one.name === name;
}

/** The values of an enumeration; those that are texts have quotes already, or need them. */
function values(compared: Compared, schema: QuerySchema, quoted: boolean): Completion[] {
  const found = findMember(compared, schema).flatMap(valuesOf);
  return [...new Map(found.map((one) => [one.value, one])).values()]
    .filter(({ value }) => quoted || typeof value === "string")
    .map(({ value, name }) => ({
      label: quoted && typeof value === "string" ? spellText(value) : String(value),
      type: "enum",
      detail: name === String(value) ? "" : name,
      boost: 30,
    }));
}

function spellText(value: string): string {
  return `'${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** Whether a word, or one behind a dot of it, begins so. */
function begins(label: string, begun: string): boolean {
  const start = begun.toLowerCase();
  const whole = label.toLowerCase();
  return whole.startsWith(start) || whole.includes(`.${start}`);
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
  return [
    ...relationshipProperties(names, schema).map((one) => property(one, language)),
    ...["$relationshipName", "$relationshipId", "$sourceId", "$targetId", "$etag"].map(system),
  ];
}

function relationshipProperties(names: string[], schema: QuerySchema): SchemaProperty[] {
  const known = names.length > 0 ? names : [...schema.relationships.keys()];
  return unique(known.flatMap((name) => schema.relationships.get(name)?.properties ?? []));
}

function words(context: Context, known: Known, language: QueryLanguage): Completion[] {
  const dialect: Dialect | undefined = known.words?.[language];
  const variables = [...context.variables].map(([label, one]): Completion => ({
    label,
    type: "variable",
    detail: one.labels.join(" | ") || (one.kind === "other" ? "" : one.kind),
    boost: 20,
  }));
  const { keywords: reading = [], writing = [] } = dialect ?? {};
  const keywords = [...reading, ...writing].map((label): Completion => ({
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
