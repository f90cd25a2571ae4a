const RESERVED = /^(?:and|as|by|case|contains|distinct|end|in|is|not|null|or|set|then|when|with)$/i;

/** A name as Cypher reads it. SPEC: backticks make a name of any word, reserved ones too. */
export function quoteName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) && !RESERVED.test(name)
    ? name
    : `\`${name.replaceAll("`", "``")}\``;
}

/** A text as Cypher has it. */
export function quoteText(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
