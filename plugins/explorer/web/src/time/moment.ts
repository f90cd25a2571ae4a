import { hashKey, type QueryKey } from "@tanstack/react-query";
import { create } from "zustand";

interface MomentState {
  /** The moment that the page shows, in milliseconds since 1970; null is now. */
  asOf: number | null;
  /** Since when changes are told apart, in milliseconds since 1970; null is not at all. */
  since: number | null;
  /** Whether the bar with which a moment is chosen is shown. */
  isOpen: boolean;
  show(asOf: number | null): void;
}

const [MEMBER, SINCE] = ["asOf", "since"] as const;

function readMember(search: string, name: string): number | null {
  const read = Date.parse(new URLSearchParams(search).get(name) ?? "");
  return Number.isNaN(read) ? null : read;
}

/** What the search part of an address says. */
export function readMoment(search: string): { asOf: number | null; since: number | null } {
  const [asOf, since] = [readMember(search, MEMBER), readMember(search, SINCE)];
  return { asOf, since: since !== null && since < (asOf ?? Infinity) ? since : null };
}

/** The search part with this moment, and all else that it says. */
export function renderMoment(
  search: string,
  { asOf, since }: { asOf: number | null; since: number | null },
): string {
  const written = new URLSearchParams(search);
  for (const [name, value] of [
    [MEMBER, asOf],
    [SINCE, since],
  ] as const) {
    if (value === null) written.delete(name);
    else written.set(name, new Date(value).toISOString());
  }
  const text = written.toString();
  return text === "" ? "" : `?${text}`;
}

/** The one moment of the page: all that is read of the graph is as of it. */
export const useMoment = create<MomentState>((set) => ({
  ...readMoment(globalThis.window?.location.search ?? ""),
  isOpen: false,
  // Changes are up to the moment that is shown.
  show: (asOf) =>
    set(({ since }) => ({
      asOf,
      since: since !== null && asOf !== null && since >= asOf ? null : since,
    })),
}));

/** What is read of the graph, by the first member of its key. */
const OF_GRAPH: ReadonlySet<unknown> = new Set([
  "twin",
  "twin-search",
  "relationship",
  "relationships",
  "incoming",
  "models",
  "counts",
  "containment",
  "locations",
  "overview",
  "picture-kinds",
  "check",
]);

/** Keeps what was read as of one moment apart from that of others. */
export function hashWithMoment(key: QueryKey): string {
  const { asOf } = useMoment.getState();
  const plain = hashKey(key);
  return asOf === null || !OF_GRAPH.has(key[0]) ? plain : `${plain} as of ${asOf}`;
}
