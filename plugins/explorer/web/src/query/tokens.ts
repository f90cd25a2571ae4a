export type QueryLanguage = "cypher" | "adt";

/** What a piece of a query text is, as far as words alone tell. */
export type TokenKind =
  | "blank"
  | "comment"
  | "keyword"
  | "name"
  | "quoted"
  | "function"
  | "label"
  | "property"
  | "string"
  | "number"
  | "parameter"
  | "symbol"
  | "invalid";

export interface Token {
  kind: TokenKind;
  text: string;
  from: number;
  to: number;
}

/** What goes on from one line to the next: nothing, or what has been opened and not closed. */
export type Open = "" | "/*" | "'" | '"' | "`";

// SPEC: the words that are keywords wherever they stand alone; language.json has them all, these
// are coloured before it has come and where it is missing.
const KEYWORDS: Record<QueryLanguage, ReadonlySet<string>> = {
  cypher: new Set(
    (
      "ALL ALLSHORTESTPATHS AND ANY AS ASC ASCENDING BY CALL CASE CONTAINS COLLECT COUNT CREATE DELETE " +
      "DESC DESCENDING DETACH DISTINCT ELSE END ENDS EXISTS EXPLAIN FALSE IN IS LIMIT MATCH MERGE NONE " +
      "NOT NULL ON OPTIONAL OR ORDER PROFILE REDUCE REMOVE RETURN SET SHORTESTPATH SINGLE SKIP STARTS " +
      "THEN TRUE UNION UNWIND WHEN WHERE WITH XOR YIELD"
    ).split(" "),
  ),
  adt: new Set(
    (
      "AND AS ASC BY DESC DIGITALTWINS DISTINCT EXPLAIN FALSE FROM GROUP IN JOIN MATCH NIN NOT " +
      "NULL OR ORDER PROFILE RELATED RELATIONSHIPS SELECT TOP TRUE WHERE"
    ).split(" "),
  ),
};

// Words that are also functions: keywords unless a bracket follows.
const BOTH = new Set(["ALL", "ANY", "NONE", "SINGLE", "REDUCE", "EXISTS", "COUNT", "COLLECT"]);

const LEXEME: Record<QueryLanguage, RegExp> = {
  cypher:
    /(?<blank>\s+)|(?<comment>\/\/.*)|(?<opens>\/\*|['"`])|(?<parameter>\$(?:`[^`]*`|[\p{L}\p{N}_]*))|(?<name>[\p{L}_][\p{L}\p{N}_]*)|(?<number>(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?[\p{L}\p{N}_]*)|(?<symbol><>|<=|>=|=~|\.\.|[-+*/%^=<>()[\]{},.:;|&!])|(?<invalid>.)/uy,
  adt: /(?<blank>\s+)|(?<opens>['"])|(?<quoted>\[\[[^[\]\n]+\]\])|(?<name>\$?[\p{L}_][\p{L}\p{N}_]*|\$)|(?<number>(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?[\p{L}\p{N}_]*)|(?<symbol>!=|<>|<=|>=|\.\.|[-*=<>()[\].,:|])|(?<invalid>.)/uy,
};

/** What a scanner knows of the line behind it. */
export interface ScanState {
  open: Open;
  /** The last symbol or word, upper case; blanks and comments do not count. */
  before: string;
  /** The brackets that are open, innermost last. */
  brackets: string;
  /** Whether the last word is the key of a map, so that a colon names no label. */
  key: boolean;
}

export function startState(): ScanState {
  return { open: "", before: "", brackets: "", key: false };
}

/** The piece that begins at `at` of a line; moves `state` behind it. The line has no newline. */
export function scan(
  line: string,
  at: number,
  state: ScanState,
  language: QueryLanguage,
): { kind: TokenKind; to: number } {
  if (state.open !== "") return close(line, at, at, state);
  const lexeme = LEXEME[language];
  lexeme.lastIndex = at;
  const found = lexeme.exec(line);
  const groups = found?.groups ?? {};
  const text = found?.[0] ?? "";
  const to = at + text.length;
  if (groups["opens"] !== undefined) {
    state.open = groups["opens"] as Open;
    return close(line, at, to, state);
  }
  if (groups["name"] !== undefined) {
    const kind = nameKind(line, to, text, state.before, language);
    state.key = isKey(state);
    state.before = text.toUpperCase();
    return { kind, to };
  }
  const [kind = "invalid"] = Object.entries(groups).find(([, value]) => value !== undefined) ?? [];
  // A member such as `t.$dtId` and the key of a map such as `{$dtId: 'a'}` look like parameters.
  const key = kind === "parameter" && isKey(state) && /^\s*:/.test(line.slice(to, to + 20));
  const member = kind === "parameter" && (state.before === "." || key);
  if (kind === "symbol") pass(text, state);
  else if (kind !== "blank" && kind !== "comment") {
    state.before = text;
    state.key = key;
  }
  return { kind: member ? "property" : (kind as TokenKind), to };
}

function pass(symbol: string, state: ScanState): void {
  if ("([{".includes(symbol)) state.brackets += symbol;
  else if (")]}".includes(symbol)) state.brackets = state.brackets.slice(0, -1);
  state.before = symbol === ":" && state.key ? "key:" : symbol;
  state.key = false;
}

function isKey(state: ScanState): boolean {
  return state.brackets.endsWith("{") && (state.before === "{" || state.before === ",");
}

/** The end of what is open, in this line or a later one. */
function close(
  line: string,
  at: number,
  behind: number,
  state: ScanState,
): { kind: TokenKind; to: number } {
  const { open } = state;
  const member = state.before === ".";
  const label = state.before === ":";
  let to = behind;
  if (open === "/*") {
    const end = line.indexOf("*/", behind);
    to = end < 0 ? line.length : end + 2;
    if (end >= 0) state.open = "";
    return { kind: "comment", to };
  }
  while (to < line.length && line[to] !== open) to += line[to] === "\\" && open !== "`" ? 2 : 1;
  if (to < line.length) {
    state.open = "";
    state.key = isKey(state);
    state.before = open;
    to++;
  }
  const quoted = member ? "property" : label ? "label" : "quoted";
  return {
    kind: open === "`" ? quoted : "string",
    to: Math.max(at + 1, Math.min(to, line.length)),
  };
}

function nameKind(
  line: string,
  to: number,
  text: string,
  before: string,
  language: QueryLanguage,
): TokenKind {
  if (before === ".") return "property";
  const upper = text.toUpperCase();
  const called = /^\s*\(/.test(line.slice(to, to + 20));
  if (language === "cypher" && [":", "|", "&", "!"].includes(before)) return "label";
  if (BOTH.has(upper) && called && upper !== "EXISTS") return "function";
  if (KEYWORDS[language].has(upper)) return "keyword";
  if (language === "adt" && text.startsWith("$")) return "property";
  return called || /^\.\w+\s*\(/.test(line.slice(to, to + 40)) ? "function" : "name";
}

/** Every piece of a text, blanks included: together they are the text. */
export function tokenize(text: string, language: QueryLanguage): Token[] {
  const tokens: Token[] = [];
  const state = startState();
  let offset = 0;
  for (const line of text.split("\n")) {
    let at = 0;
    while (at < line.length) {
      const { kind, to } = scan(line, at, state, language);
      const last = tokens.at(-1);
      const piece = line.slice(at, to);
      if (
        last?.to === offset + at &&
        last.kind === kind &&
        (kind === "string" || kind === "comment")
      ) {
        // A string or comment that goes on, behind the newline that belongs to it.
        last.text += piece;
        last.to = offset + to;
      } else tokens.push({ kind, text: piece, from: offset + at, to: offset + to });
      at = to;
    }
    offset += line.length;
    if (offset < text.length) {
      const inside = state.open === "" ? undefined : tokens.at(-1);
      if (inside !== undefined && inside.to === offset) {
        inside.text += "\n";
        inside.to = offset + 1;
      } else tokens.push({ kind: "blank", text: "\n", from: offset, to: offset + 1 });
      offset++;
    }
  }
  return tokens;
}

const PLAN_WORD = /^((?:\s|\/\/.*(?:\n|$)|\/\*[^]*?\*\/)*)(?:EXPLAIN|PROFILE)\b/i;
const FIRST_WORD = /^(?:\s|\/\/.*(?:\n|$)|\/\*[^]*?\*\/)*(\w*)/;

/** As the service does it: by the first word alone. */
export function detectLanguage(text: string): QueryLanguage {
  return FIRST_WORD.exec(text.replace(PLAN_WORD, ""))?.[1]?.toUpperCase() === "SELECT"
    ? "adt"
    : "cypher";
}

/** Whether the text asks for the plan instead of rows. */
export function asksForPlan(text: string): boolean {
  return PLAN_WORD.test(text);
}

/** What asks for the plan of a text: without a run of it, or with one. */
export type PlanWord = "EXPLAIN" | "PROFILE";

/**
 * The text that asks for its plan by this word. A word that stands there is replaced: both are as
 * long. Otherwise it comes on a line of its own, so columns stay.
 */
export function askForPlan(text: string, word: PlanWord): string {
  return asksForPlan(text) ? text.replace(PLAN_WORD, `$1${word}`) : `${word}\n${text}`;
}

/** What a text is sent as: a query that reads, or a statement that calls procedures or writes. */
export type StatementKind = "reads" | "calls" | "writes";

const WRITING = new Set(["CREATE", "DELETE", "DETACH", "MERGE", "REMOVE", "SET"]);
// Behind these stands an expression or a pattern, so that the next word is a name.
const EXPECTS_NAME = /^(?:[([,.:|$&!=<>+\-*/%^]|<>|<=|>=|=~|\.\.)$/;

/**
 * Whether a text has clauses that `POST /query` refuses. It goes by words: a variable called `set`
 * is told from the clause by what stands around it.
 */
export function findKind(text: string): StatementKind {
  if (detectLanguage(text) === "adt") return "reads";
  const words = tokenize(text, "cypher").filter(
    ({ kind }) => kind !== "blank" && kind !== "comment",
  );
  let calls = false;
  for (const [at, { kind, text: word }] of words.entries()) {
    if (kind !== "keyword" && kind !== "name" && kind !== "function") continue;
    const [before = "", next = ""] = [words[at - 1]?.text, words[at + 1]?.text];
    const upper = word.toUpperCase();
    if (upper === "CALL" && next !== "{" && next !== "(") calls = true;
    // `RETURN *` and `WITH *` are the ends of clauses.
    const star = before === "*" && /^(?:RETURN|WITH|DISTINCT)$/i.test(words[at - 2]?.text ?? "");
    if (!WRITING.has(upper) || (EXPECTS_NAME.test(before) && !star)) continue;
    if (before === "{" && next === ":") continue; // the key of a map
    if (/^(?:AS|IN|BY|WHERE|AND|OR|XOR|NOT|RETURN|WITH|UNWIND|YIELD)$/i.test(before)) continue;
    return "writes";
  }
  return calls ? "calls" : "reads";
}
