import type { Place } from "../store";

/** Rows and columns, about 3 to 2. */
export function placeInGrid(count: number): Place[] {
  const columns = Math.max(1, Math.ceil(Math.sqrt(count * 1.5)));
  return Array.from({ length: count }, (_, at) => ({
    x: at % columns,
    y: -Math.floor(at / columns),
  }));
}

/** A circle whose neighbours stand one unit apart. */
export function placeInCircle(count: number): Place[] {
  const radius = Math.max(1, count / (2 * Math.PI));
  return Array.from({ length: count }, (_, at) => {
    const angle = Math.PI / 2 - (2 * Math.PI * at) / Math.max(1, count);
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
}

/** Between two rings, where neighbours on a ring are one apart. */
const RING = 2;

/**
 * Rings in each other, for groups of these sizes in the order of their nodes: small groups inside,
 * where they may share a ring, and large ones outside, each on as many rings as it needs.
 */
export function placeInRings(groups: readonly number[]): Place[] {
  const starts = groups.map((_, at) => groups.slice(0, at).reduce((sum, one) => sum + one, 0));
  const order = groups
    .map((count, at) => ({ count, start: starts[at] ?? 0 }))
    .sort((one, other) => one.count - other.count);
  const rings: { radius: number; members: number[] }[] = [];
  for (const { count, start } of order) {
    const members = Array.from({ length: count }, (_, at) => start + at);
    while (members.length > 0) {
      const last = rings.at(-1);
      if (last !== undefined && last.members.length + members.length <= hold(last.radius)) {
        last.members.push(...members.splice(0));
        continue;
      }
      const next = last === undefined ? 0 : last.radius + RING;
      // A little too many widen the ring; more go on to the next.
      const most = Math.max(hold(next), 1);
      const taken = members.splice(0, members.length <= most * 1.5 ? members.length : most);
      const radius = Math.max(next, taken.length > 1 ? taken.length / (2 * Math.PI) : 0);
      rings.push({ radius, members: taken });
    }
  }
  const places: Place[] = [];
  for (const { radius, members } of rings) {
    members.forEach((member, at) => {
      const angle = Math.PI / 2 - (2 * Math.PI * at) / members.length;
      places[member] = { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
    });
  }
  return places;
}

/** How many neighbours a ring of this radius holds one apart. */
function hold(radius: number): number {
  return Math.floor(2 * Math.PI * radius);
}

/** Where a node begins that has no place yet: a sunflower's seeds, the same each time. */
export function placeSeed(at: number): Place {
  const radius = 10 * Math.sqrt(at + 0.5);
  const angle = at * 2.399963;
  return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
}
