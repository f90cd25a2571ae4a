import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** The editor in the colours of `theme.css`, so that it follows light and dark by itself. */
const frame = EditorView.theme({
  "&": {
    height: "100%",
    fontSize: "13px",
    color: "var(--text)",
    backgroundColor: "var(--ground)",
  },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--accent)", padding: "8px 0" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--accent)" },
  ".cm-gutters": {
    backgroundColor: "var(--ground)",
    color: "var(--text-muted)",
    border: "none",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLineGutter": { color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { background: "color-mix(in srgb, var(--accent) 25%, transparent)" },
  "&.cm-focused .cm-matchingBracket": {
    backgroundColor: "color-mix(in srgb, var(--accent) 20%, transparent)",
    outline: "1px solid var(--accent)",
  },
  // As pale as can be read, and slanted: it is nothing that was written.
  ".cm-placeholder": {
    color: "color-mix(in srgb, var(--text-muted) 88%, var(--ground))",
    fontStyle: "italic",
  },
  ".cm-foldPlaceholder": {
    backgroundColor: "var(--ground-raised)",
    border: "1px solid var(--line)",
    color: "var(--text-muted)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--ground)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    boxShadow: "0 4px 16px rgb(0 0 0 / 25%)",
    overflow: "hidden",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "16em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px 8px", lineHeight: "1.6" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--accent-text)",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionDetail": { color: "var(--text-muted)", fontStyle: "normal", marginLeft: "1em" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-tooltip.cm-completionInfo": { padding: "6px 10px", maxWidth: "24em" },
  ".cm-diagnostic": {
    padding: "6px 10px",
    whiteSpace: "pre-wrap",
    maxWidth: "40em",
    fontFamily: "var(--sans)",
  },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--danger)" },
  ".cm-diagnostic-warning": { borderLeft: "4px solid var(--warning)" },
  ".cm-diagnosticAction": {
    backgroundColor: "var(--accent)",
    color: "var(--accent-text)",
    padding: "2px 8px",
    borderRadius: "4px",
    margin: "0 0 0 8px",
  },
  // SEC: the library's wavy lines are images in data URLs; these need no image at all.
  ".cm-lintRange-error": underlined("--danger"),
  ".cm-lintRange-warning": underlined("--warning"),
  ".cm-panels": { backgroundColor: "var(--ground-raised)", color: "var(--text)" },
  ".cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-searchMatch": {
    backgroundColor: "color-mix(in srgb, var(--warning) 35%, transparent)",
    outline: "none",
  },
  ".cm-textfield": {
    backgroundColor: "var(--ground)",
    border: "1px solid var(--line)",
    borderRadius: "4px",
  },
  ".cm-button": {
    backgroundImage: "none",
    backgroundColor: "var(--ground)",
    border: "1px solid var(--line)",
    borderRadius: "4px",
  },
});

function underlined(color: string) {
  return {
    backgroundImage: "none",
    textDecoration: `underline wavy var(${color})`,
    textDecorationSkipInk: "none",
    textUnderlineOffset: "3px",
  };
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-number)" },
  { tag: [tags.typeName, tags.labelName], color: "var(--code-type)" },
  { tag: [tags.propertyName], color: "var(--code-property)" },
  { tag: [tags.function(tags.variableName)], color: "var(--code-function)" },
  { tag: [tags.special(tags.variableName)], color: "var(--code-number)" },
  { tag: [tags.comment], color: "var(--text-muted)", fontStyle: "italic" },
  { tag: tags.invalid, color: "var(--danger)" },
]);

export const codeTheme = [frame, syntaxHighlighting(colours)];
