import type { Link } from "./hierarchy";

/** A graph that a layout is judged by in tests: its nodes, and of the members of floors the floor. */
export interface SampleGraph {
  nodes: string[];
  links: Link[];
  floors: ReadonlyMap<string, string>;
}

/** How many buildings, levels of each, and rooms of a level. */
export interface CampusSize {
  buildings: number;
  levels: number;
  rooms: number;
}

/** A campus as `twinframe demo` writes it: each room with an air terminal and its sensors. */
export function buildCampus({ buildings, levels, rooms }: CampusSize): SampleGraph {
  const nodes = ["site"];
  const links: Link[] = [];
  const floors = new Map<string, string>();
  const link = (source: string, name: string, target: string): void => {
    links.push({ source, target, name });
  };
  const addRoom = (level: string, unit: string, at: number): string => {
    const room = `${level}-r${at}`;
    const sensors = ["t", "p", ...(at % 10 < 7 ? ["c"] : [])].map((one) => `${room}-${one}`);
    const all = [room, `${room}-vav`, ...sensors];
    nodes.push(...all);
    for (const one of all) floors.set(one, level);
    link(level, "contains", room);
    link(unit, "feeds", `${room}-vav`);
    link(`${room}-vav`, "feeds", room);
    for (const sensor of sensors) {
      link(sensor, "observes", room);
      link(sensor, "locatedIn", room);
    }
    return room;
  };
  for (let number = 1; number <= buildings; number++) {
    const building = `b${number}`;
    const chiller = `${building}-chiller`;
    nodes.push(building, chiller);
    link("site", "contains", building);
    link(building, "suppliedBy", chiller);
    link(chiller, "locatedIn", building);
    for (let storey = 0; storey < levels; storey++) {
      const level = `${building}-l${storey}`;
      const unit = `${level}-ahu`;
      nodes.push(level, unit);
      floors.set(unit, level);
      link(building, "contains", level);
      link(unit, "locatedIn", level);
      link(chiller, "feeds", unit);
      let before: string | null = null;
      for (let at = 1; at <= rooms; at++) {
        const room = addRoom(level, unit, at);
        if (before !== null) link(before, "adjacentTo", room);
        before = room;
      }
    }
  }
  return { nodes, links, floors };
}

/** Numbers from 0 to below 1, the same each time. */
export function buildDice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A tree whose every node hangs on a random one of those before it. */
export function buildRandomTree(count: number): SampleGraph {
  const dice = buildDice(7);
  const nodes = Array.from({ length: count }, (_, at) => `n${at}`);
  const links = nodes.slice(1).map((target, at): Link => {
    return { source: `n${Math.floor(dice() * (at + 1))}`, target, name: "has" };
  });
  return { nodes, links, floors: new Map() };
}

/** Devices that stand in rooms, are parts of systems over three rooms each, and talk to others there. */
export function buildMesh(rooms: number, devices: number): SampleGraph {
  const dice = buildDice(11);
  const nodes: string[] = [];
  const links: Link[] = [];
  const systems = Math.ceil(rooms / 3);
  for (let at = 0; at < rooms; at++) nodes.push(`room${at}`);
  for (let at = 0; at < systems; at++) nodes.push(`system${at}`);
  for (let room = 0; room < rooms; room++) {
    for (let at = 0; at < devices; at++) {
      const device = `d${room}-${at}`;
      const near = Math.floor(room / 3) * 3 + Math.floor(dice() * 3);
      const other = `d${Math.min(rooms - 1, near)}-${Math.floor(dice() * devices)}`;
      nodes.push(device);
      links.push({ source: device, target: `room${room}`, name: "locatedIn" });
      links.push({ source: device, target: `system${Math.floor(room / 3)}`, name: "partOf" });
      links.push({ source: device, target: other, name: "connectedTo" });
    }
    if (room > 0) links.push({ source: `room${room - 1}`, target: `room${room}`, name: "nextTo" });
  }
  return { nodes, links, floors: new Map() };
}

/** How far two nodes are apart, by their indexes. */
export function measureDistance(at: ArrayLike<number>, one: number, other: number): number {
  return Math.hypot(
    (at[2 * one] ?? 0) - (at[2 * other] ?? 0),
    (at[2 * one + 1] ?? 0) - (at[2 * other + 1] ?? 0),
  );
}

/** How far the two that are closest are apart, as a share of what their radii ask for. */
export function measureClosest(at: ArrayLike<number>, radii: ArrayLike<number>): number {
  let least = Infinity;
  for (let one = 0; one < radii.length; one++) {
    for (let other = one + 1; other < radii.length; other++) {
      const wanted = (radii[one] ?? 0) + (radii[other] ?? 0);
      least = Math.min(least, measureDistance(at, one, other) / wanted);
    }
  }
  return least;
}
