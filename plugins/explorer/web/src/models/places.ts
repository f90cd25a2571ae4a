import { jsonLanguage } from "@codemirror/lang-json";
import type { SyntaxNode } from "@lezer/common";

import { parseJson } from "../api/json";

export interface Range {
  from: number;
  to: number;
}

/** Where the value that a JSON pointer names stands in a text; of a missing one, what holds it. */
export function locate(text: string, pointer: string): Range {
  const tree = jsonLanguage.parser.parse(text);
  let node = firstValue(tree.topNode);
  if (node === null) return { from: 0, to: text.length };
  for (const step of pointer.split("/").slice(1).map(unescape)) {
    const next = child(node, step, text);
    if (next === null) break;
    node = next;
  }
  // A whole object underlined says nothing: its opening bracket does.
  const wide = node.name === "Object" || node.name === "Array";
  return { from: node.from, to: wide ? node.from + 1 : node.to };
}

/** Where a text first is no JSON; null where it is. */
export function findSyntaxError(text: string): Range | null {
  let found: Range | null = null;
  jsonLanguage.parser.parse(text).iterate({
    enter: (node) => {
      if (node.type.isError) found ??= { from: node.from, to: Math.max(node.to, node.from + 1) };
      return found === null;
    },
  });
  if (found !== null) return found;
  try {
    parseJson(text);
    return null;
  } catch {
    // The grammar of the editor is laxer in places, such as in what a number may be.
    return { from: 0, to: Math.min(1, text.length) };
  }
}

function unescape(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}

function firstValue(node: SyntaxNode): SyntaxNode | null {
  return node.firstChild;
}

function child(node: SyntaxNode, step: string, text: string): SyntaxNode | null {
  if (node.name === "Array") {
    const values: SyntaxNode[] = [];
    for (let one = node.firstChild; one !== null; one = one.nextSibling) {
      if (one.name !== "[" && one.name !== "]" && one.name !== ",") values.push(one);
    }
    return values[Number(step)] ?? null;
  }
  // Of members of one name the last one counts, as for whoever reads the document.
  let found: SyntaxNode | null = null;
  for (let one = node.firstChild; one !== null; one = one.nextSibling) {
    const name = one.name === "Property" ? one.getChild("PropertyName") : null;
    if (name !== null && parseJson(text.slice(name.from, name.to)) === step) {
      found = one.lastChild ?? found;
    }
  }
  return found;
}
