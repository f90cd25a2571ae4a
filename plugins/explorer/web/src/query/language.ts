import { StreamLanguage, type StreamParser } from "@codemirror/language";
import { tags } from "@lezer/highlight";

import { scan, startState, type QueryLanguage, type ScanState, type TokenKind } from "./tokens";

/** The names that the highlighting has for our kinds; null is plain text. */
const STYLES: Record<TokenKind, string | null> = {
  blank: null,
  comment: "comment",
  keyword: "keyword",
  name: null,
  quoted: null,
  function: "callee",
  label: "label",
  property: "member",
  string: "string",
  number: "number",
  parameter: "parameter",
  symbol: null,
  invalid: "wrong",
};

function parserOf(language: QueryLanguage): StreamParser<ScanState> {
  return {
    name: language,
    startState,
    copyState: (state) => ({ ...state }),
    token: (stream, state) => {
      const { kind, to } = scan(stream.string, stream.pos, state, language);
      stream.pos = to;
      return STYLES[kind];
    },
    tokenTable: {
      callee: tags.function(tags.variableName),
      label: tags.typeName,
      member: tags.propertyName,
      parameter: tags.special(tags.variableName),
      wrong: tags.invalid,
    },
    languageData: {
      closeBrackets: {
        brackets: ["(", "[", "{", "'", '"', ...(language === "cypher" ? ["`"] : [])],
      },
      ...(language === "cypher"
        ? { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } }
        : {}),
    },
  };
}

export const LANGUAGES: Record<QueryLanguage, StreamLanguage<ScanState>> = {
  cypher: StreamLanguage.define(parserOf("cypher")),
  adt: StreamLanguage.define(parserOf("adt")),
};
