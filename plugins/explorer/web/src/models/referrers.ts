const MOST_NAMES = 5;

/** What has to go before a model can; null where nothing has. */
export function tellReferrers(names: readonly string[]): string | null {
  if (names.length === 0) return null;
  if (names.length === 1) return `${names[0]} refers to it and has to be deleted first.`;
  const more = names.length - MOST_NAMES;
  const told = more > 1 ? [...names.slice(0, MOST_NAMES), `${more} more`] : names;
  return `${told.slice(0, -1).join(", ")} and ${told.at(-1)} refer to it and have to be deleted first.`;
}
