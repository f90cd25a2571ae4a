import { detectLanguage, tokenize } from "../query/tokens";

const MEMBER = /^`?\$(?:dtId|sourceId|targetId)`?$/;

/** Whether what has this name is the id of a twin: a member, or a column such as `n.$dtId`. */
export function namesTwin(name: string): boolean {
  return /(?:^|\.)`?\$(?:dtId|sourceId|targetId)`?$/.test(name);
}

/**
 * The names that a query gives to ids of twins, as in `RETURN n.$dtId AS id`. A name that it gives
 * to anything else as well is none of them.
 */
export function findIdNames(query: string): ReadonlySet<string> {
  const language = detectLanguage(query);
  const words = tokenize(query, language)
    .filter(({ kind }) => kind !== "blank" && kind !== "comment")
    .map(({ text }) => text);
  const ids = new Set<string>();
  const others = new Set<string>();
  words.forEach((word, at) => {
    const name = words[at + 1];
    if (word.toUpperCase() !== "AS" || name === undefined) return;
    const [before, , dot, member] = words.slice(at - 4, at);
    // `a.$dtId + b.$dtId AS both` is no id: what stands in front has to begin an item.
    const alone = /^(?:,|\)|RETURN|WITH|DISTINCT|SELECT)$/i.test(before ?? "");
    const isId = alone && dot === "." && MEMBER.test(member ?? "");
    (isId ? ids : others).add(bare(name));
  });
  return new Set([...ids].filter((name) => !others.has(name)));
}

function bare(name: string): string {
  return name.startsWith("`") ? name.slice(1, -1).replaceAll("``", "`") : name;
}
