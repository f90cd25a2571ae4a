/** What the vendor calls a permission that has another name here. */
const ALIASES: Record<string, string> = { "query/action": "query/read" };

/**
 * Whether grants cover a permission. A grant is a permission, or one whose last segment is `*`,
 * which covers everything below what stands before it.
 */
export function covers(grants: readonly string[], permission: string): boolean {
  const wanted = ALIASES[permission] ?? permission;
  return grants.some((grant) => {
    if (grant.endsWith("/*")) return wanted.startsWith(grant.slice(0, -1));
    return (ALIASES[grant] ?? grant) === wanted;
  });
}
