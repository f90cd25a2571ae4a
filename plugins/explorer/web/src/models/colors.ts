/** What stands for no model, or for one that is not known. */
export const NEUTRAL = "#8b949e";

/**
 * Colours that are far apart, in steps of sixteen: each step keeps as clear of those before it as it
 * can. All have 3:1 and more against the light and the dark ground, and against the white of icons.
 * They were found by moving each in turn to where it is the farthest from the others in OKLab, up to
 * a chroma of 0.2: beyond, they glare. `colors.test.ts` holds what that came to.
 */
export const PALETTE: readonly string[] = `
  #007300 #b41e78 #7d5f00 #f56400 #d764d7 #5aa500 #873cbe #0096e6
  #0f6987 #af8714 #875f78 #eb4b7d #c32d00 #2d5ad7 #8c73ff #009173
  #c88068 #a880d0 #4078b8 #688000 #9060b0 #407050 #20a0b0 #789860
  #b840b0 #c06000 #b85068 #907858 #6058a0 #d078a0 #4878f8 #608088
  #a05038 #6850d8 #009000 #e04040 #a880a0 #6090c0 #00a868 #9058e0
  #706050 #b860a0 #984098 #c01848 #f06868 #d03880 #a09070 #a07000
  #e050a8 #b068e8 #8078a8 #909800 #7070d0 #a07078 #606888 #008098
  #608058 #d07818 #2860b0 #586800 #288040 #a04068 #c86870 #7888e8
`
  .trim()
  .split(/\s+/);
const STEP = 16;

/**
 * A colour for each of these ids. Those that had one keep it. Of the others the place among the
 * colours follows from the id alone, unless one before has it already: then it is the free one that
 * is the farthest from those given out. The first sixteen have the first step, the next ones the
 * next; beyond the last, colours are shared.
 */
export function assignColors(
  ids: readonly string[],
  known: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const given = new Map<string, string>();
  for (const id of ids) {
    const before = known.get(id);
    if (before !== undefined) given.set(id, before);
  }
  const used = new Set(given.values());
  const taken = [...used].map(readLab);
  const steps = Array.from({ length: PALETTE.length / STEP }, (_, at) =>
    PALETTE.slice(at * STEP, at * STEP + STEP),
  );
  for (const id of ids) {
    if (given.has(id)) continue;
    const step = steps.find((colors) => colors.some((one) => !used.has(one))) ?? [];
    const wanted = step[hashOf(id) % STEP];
    const found =
      wanted !== undefined && !used.has(wanted)
        ? wanted
        : findFarthest(
            step.filter((one) => !used.has(one)),
            taken,
          );
    given.set(id, found ?? sharedColor(id));
    if (found === undefined) continue;
    used.add(found);
    taken.push(readLab(found));
  }
  return given;
}

/** A colour that follows from the id alone, and that others may have too. */
export function sharedColor(id: string): string {
  return PALETTE[hashOf(id) % PALETTE.length] ?? NEUTRAL;
}

function findFarthest(free: Iterable<string>, taken: readonly Lab[]): string | undefined {
  let [found, most]: [string | undefined, number] = [undefined, -1];
  for (const one of free) {
    const lab = readLab(one);
    const least = Math.min(...taken.map((other) => distance(lab, other)));
    if (least > most) [found, most] = [one, least];
  }
  return found;
}

/** How different two colours look: 0.02 can just be told, 1 is black and white. */
export function measureDifference(one: string, other: string): number {
  return distance(readLab(one), readLab(other));
}

type Lab = readonly [lightness: number, a: number, b: number];

function distance(one: Lab, other: Lab): number {
  return Math.hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
}

/** OKLab of `#rrggbb`; see https://bottosson.github.io/posts/oklab/ */
function readLab(color: string): Lab {
  const [r, g, b] = readLinear(color);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** The shares of light of `#rrggbb`, each from 0 to 1. */
export function readLinear(color: string): readonly [r: number, g: number, b: number] {
  const channel = (at: number): number => {
    const value = parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

function hashOf(text: string): number {
  let hash = 2166136261;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  }
  return hash >>> 0;
}
