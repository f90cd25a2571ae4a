import { tokenize, type QueryLanguage, type Token } from "./tokens";

/** What a query says of a variable: the labels of a twin or the names of a relationship. */
export interface Variable {
  kind: "twin" | "relationship" | "other";
  labels: string[];
}

/** A member of a variable, however deep; `of` is unknown where nothing says what it is. */
export interface Compared {
  of: Variable | undefined;
  path: string[];
}

/** What is being written where the cursor stands. */
export type Wanted =
  | { what: "nothing" }
  /** `compared` is what it stands behind, as in `n.mode = `. */
  | { what: "word"; compared?: Compared }
  /** The key of a map in a pattern, as in `(n:Room {`. */
  | { what: "key"; of: Variable }
  /** Within the quotes of a text that something is compared with. */
  | { what: "value"; compared: Compared }
  | { what: "label" }
  | { what: "relationship" }
  | { what: "member"; path: string[] }
  | { what: "parameter" }
  | { what: "model" };

export interface Context {
  wanted: Wanted;
  /** Where what is being written begins. */
  from: number;
  variables: ReadonlyMap<string, Variable>;
}

/** Reads what stands before the cursor, and the variables of the whole text. */
export function readContext(text: string, at: number, language: QueryLanguage): Context {
  const tokens = tokenize(text, language).filter((one) => one.kind !== "blank");
  const before = tokens.filter((one) => one.from < at);
  const last = before.at(-1);
  const writing = last !== undefined && last.to >= at && isWord(last) ? last : undefined;
  const behind = writing === undefined ? before : before.slice(0, -1);
  const variables = readVariables(tokens, language);
  const from = writing?.from ?? at;
  return { wanted: findWanted(behind, writing, at, language, variables), from, variables };
}

function isWord(token: Token): boolean {
  return !["symbol", "blank", "comment", "number", "invalid"].includes(token.kind);
}

function findWanted(
  behind: Token[],
  writing: Token | undefined,
  at: number,
  language: QueryLanguage,
  variables: ReadonlyMap<string, Variable>,
): Wanted {
  const last = behind.at(-1);
  // Within a comment or a number nothing is offered.
  if (writing === undefined && last !== undefined && last.to >= at) {
    if (last.kind === "comment" || last.kind === "number") return { what: "nothing" };
  }
  if (writing?.kind === "string") {
    if (isModelArgument(behind)) return { what: "model" };
    const compared = findCompared(behind, variables);
    return compared === null ? { what: "nothing" } : { what: "value", compared };
  }
  if (writing?.kind === "parameter") return { what: "parameter" };
  if (last?.text === ".") {
    const path = readPath(behind.slice(0, -1));
    return path.length > 0 ? { what: "member", path } : { what: "nothing" };
  }
  const of = language === "cypher" ? findPattern(behind, variables) : null;
  if (of !== null) return { what: "key", of };
  const compared = findCompared(behind, variables);
  if (compared !== null) return { what: "word", compared };
  if (last?.text === ":" || (last !== undefined && "|&!".includes(last.text))) {
    return findAfterColon(behind, language);
  }
  return { what: "word" };
}

function findAfterColon(behind: Token[], language: QueryLanguage): Wanted {
  let depth = 0;
  for (const token of behind.toReversed()) {
    if (token.kind !== "symbol") continue;
    if (")]}".includes(token.text)) depth++;
    else if ("([{".includes(token.text) && depth-- === 0) {
      if (token.text === "[") return { what: "relationship" };
      // In braces a colon stands behind the key of a map.
      if (token.text === "{") return { what: "word" };
      return language === "cypher" ? { what: "label" } : { what: "nothing" };
    }
  }
  return language === "cypher" ? { what: "label" } : { what: "nothing" };
}

/** What stands before `=`, `<>`, `!=` or `IN [`, or the key of a pattern's map before its colon. */
function findCompared(behind: Token[], variables: ReadonlyMap<string, Variable>): Compared | null {
  let end = behind.length - 1;
  if (behind[end]?.text === ":") {
    const key = behind[end - 1];
    const of = findPattern(behind.slice(0, -2), variables);
    return of === null || key === undefined ? null : { of, path: [unquote(key.text)] };
  }
  while (behind[end]?.text === "," || behind[end]?.kind === "string") end--;
  if (end >= 0 && behind[end]?.text === "[") end--;
  else if (end < behind.length - 1) return null;
  const sign = behind[end];
  if (sign === undefined || !/^(?:=|<>|!=|IN|NIN)$/i.test(sign.text)) return null;
  const [name = "", ...members] = readPath(behind.slice(0, end));
  if (name === "") return null;
  const of = variables.get(name);
  // The vendor's language leaves the alias out.
  return of === undefined ? { of, path: [name, ...members] } : { of, path: members };
}

/** What a pattern is of whose map is open where a key may stand, as in `(n:Room {area: 5, `. */
function findPattern(behind: Token[], variables: ReadonlyMap<string, Variable>): Variable | null {
  const last = behind.at(-1)?.text;
  if (last !== "{" && last !== ",") return null;
  let at = behind.length - 1;
  for (let depth = 0; at >= 0; at--) {
    const text = behind[at]?.text ?? "";
    if (text === "{" && depth === 0) break;
    if (")]}".includes(text)) depth++;
    else if ("([{".includes(text) && depth-- === 0) return null;
  }
  const labels: string[] = [];
  for (at--; at >= 0; at--) {
    const token = behind[at];
    if (token === undefined || token.text === "(" || token.text === "[") break;
    if (token.kind === "label") labels.unshift(unquote(token.text));
    else if (token.kind === "symbol" && !":|&!".includes(token.text)) return null;
  }
  const open = behind[at];
  if (open === undefined || isCall(behind, at)) return null;
  const named = variables.get(unquote(behind[at + 1]?.text ?? ""));
  return named ?? { kind: open.text === "(" ? "twin" : "relationship", labels };
}

function isModelArgument(behind: Token[]): boolean {
  let depth = 0;
  for (const [back, token] of behind.toReversed().entries()) {
    if (token.text === ")") depth++;
    else if (token.text === "(" && depth-- === 0) {
      const name = behind.at(-back - 2)?.text ?? "";
      return /^is_of_model$/i.test(name);
    }
  }
  return false;
}

/** The names of `a.b.c`, read backwards from its last dot. */
function readPath(tokens: Token[]): string[] {
  const path: string[] = [];
  for (let at = tokens.length - 1; at >= 0; at -= 2) {
    const name = tokens[at];
    if (name === undefined || !isWord(name) || name.kind === "string") break;
    path.unshift(unquote(name.text));
    if (tokens[at - 1]?.text !== ".") break;
  }
  return path;
}

export function unquote(name: string): string {
  if (name.startsWith("`"))
    return name.slice(1, name.endsWith("`") ? -1 : undefined).replaceAll("``", "`");
  return name.startsWith("[[") ? name.slice(2, -2) : name;
}

function readVariables(tokens: Token[], language: QueryLanguage): Map<string, Variable> {
  const found = new Map<string, Variable>();
  const add = (name: string, kind: Variable["kind"], labels: string[]): void => {
    const known = found.get(name);
    if (known === undefined || (known.kind === "other" && kind !== "other")) {
      found.set(name, { kind, labels });
    } else if (kind !== "other") known.labels = [...new Set([...known.labels, ...labels])];
  };
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    const next = tokens[at + 1];
    if (token === undefined || next === undefined) break;
    const opens = token.text === "(" || token.text === "[";
    if (opens && isVariable(next) && !isCall(tokens, at)) {
      const kind = token.text === "(" ? "twin" : "relationship";
      const labels = readLabels(tokens, at + 2);
      if (kind === "twin" || labels.length > 0 || tokens[at - 1]?.text === "-") {
        add(unquote(next.text), kind, labels);
      }
    } else if (isKeyword(token, "AS") && isVariable(next)) add(unquote(next.text), "other", []);
    else if (language === "adt") readAlias(tokens, at, add);
  }
  return found;
}

/** Whether the bracket at `at` is that of a function or a list, not of a pattern. */
function isCall(tokens: Token[], at: number): boolean {
  const before = tokens[at - 1];
  return before?.kind === "function" || before?.kind === "name";
}

function readLabels(tokens: Token[], at: number): string[] {
  const labels: string[] = [];
  for (let next = at; tokens[next]?.kind === "symbol"; next += 2) {
    const text = tokens[next]?.text ?? "";
    const name = tokens[next + 1];
    if (![":", "|", "&"].includes(text) || name === undefined) break;
    // In the vendor's language names follow the colon without being labels of twins.
    if (name.kind === "label" || name.kind === "name") labels.push(unquote(name.text));
  }
  return labels;
}

function readAlias(
  tokens: Token[],
  at: number,
  add: (name: string, kind: Variable["kind"], labels: string[]) => void,
): void {
  const token = tokens[at];
  if (token === undefined) return;
  if (isKeyword(token, "DIGITALTWINS") || isKeyword(token, "RELATIONSHIPS")) {
    const next = tokens[at + 1];
    if (next !== undefined && isVariable(next)) {
      add(next.text, isKeyword(token, "DIGITALTWINS") ? "twin" : "relationship", []);
    }
  } else if (isKeyword(token, "JOIN")) {
    const next = tokens[at + 1];
    if (next !== undefined && isVariable(next)) add(next.text, "twin", []);
  } else if (isKeyword(token, "RELATED")) {
    const [, dot, name, alias] = tokens.slice(at + 1, at + 5);
    if (dot?.text === "." && name !== undefined && alias !== undefined && isVariable(alias)) {
      add(alias.text, "relationship", [unquote(name.text)]);
    }
  }
  readModelOf(tokens, at, add);
}

/** `IS_OF_MODEL(T, 'dtmi:…')` tells the label of an alias. */
function readModelOf(
  tokens: Token[],
  at: number,
  add: (name: string, kind: Variable["kind"], labels: string[]) => void,
): void {
  if (!/^is_of_model$/i.test(tokens[at]?.text ?? "")) return;
  const [open, alias, comma, model] = tokens.slice(at + 1, at + 5);
  if (open?.text !== "(" || alias === undefined || comma?.text !== "," || model === undefined)
    return;
  const dtmi = model.text.slice(1, -1).replace(/;[\d.]*$/, "");
  add(alias.text, "twin", [dtmi.split(":").at(-1) ?? ""]);
}

function isVariable(token: Token): boolean {
  return token.kind === "name" || token.kind === "quoted";
}

function isKeyword(token: Token, word: string): boolean {
  return token.kind === "keyword" && token.text.toUpperCase() === word;
}
