/** Filters to begin with, each with what passes it. */
export const EXAMPLES: readonly { filter: string; passes: string }[] = [
  { filter: "true", passes: "everything" },
  { filter: "type = 'Microsoft.DigitalTwins.Twin.Create'", passes: "new twins" },
  {
    filter: "STARTS_WITH(type, 'Microsoft.DigitalTwins.Relationship')",
    passes: "all events of relationships",
  },
  { filter: "CHANGED(temperature)", passes: "changes of a property, or of something below it" },
  { filter: "CROSSED_ABOVE(temperature, 30)", passes: "a number that rose above 30" },
  {
    filter: "OLD(mode) = 'auto' AND NEW(mode) = 'manual'",
    passes: "a change from one value to another",
  },
  {
    filter: "IS_OF_MODEL('dtmi:com:example:Space;1')",
    passes: "twins of a model and of those that extend it",
  },
];

export interface FilterProblem {
  line: number;
  position: number;
  message: string;
}

/** Where a filter is wrong, of the text with which the service refuses it; null for another text. */
export function parseFilterProblem(text: string): FilterProblem | null {
  const found = /^Parsing error, Line=(\d+), Position=(\d+), Message=([^]*)$/.exec(text);
  if (found === null) return null;
  const [, line = "1", position = "0", message = ""] = found;
  return { line: Number(line), position: Number(position), message };
}
