import { summarize, type Values } from "./values";

/** Of the drawing, in pixels. */
export const [WIDTH, HEIGHT] = [84, 18];

/** The line of values as an SVG path; it breaks where there was no value. */
export function drawSpark({ times, values }: Pick<Values, "times" | "values">): string {
  const { lowest, highest } = summarize({ values });
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? 1];
  const [low, high] = [lowest ?? 0, highest ?? 1];
  const room = 2;
  let isOn = false;
  return times
    .map((time, at) => {
      const value = values[at];
      if (value === null || value === undefined) {
        isOn = false;
        return "";
      }
      const x = room + ((time - first) / (last - first || 1)) * (WIDTH - 2 * room);
      const y = HEIGHT - room - ((value - low) / (high - low || 1)) * (HEIGHT - 2 * room);
      const step = `${isOn ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
      isOn = true;
      return step;
    })
    .join("");
}
