/** Colours of lines, told apart on light and on dark ground; more lines than these begin anew. */
const LINES = [
  "light-dark(#0858c7, #58a6ff)",
  "light-dark(#b35900, #f0883e)",
  "light-dark(#116329, #3fb950)",
  "light-dark(#8250df, #bc8cff)",
  "light-dark(#b3261e, #ff7b72)",
  "light-dark(#0b7285, #39c5cf)",
  "light-dark(#7d6200, #d2b322)",
  "light-dark(#a2307d, #f778ba)",
] as const;

/** The colour of a line by its place, as CSS has it. */
export function lineColor(at: number): string {
  return LINES[at % LINES.length] ?? LINES[0];
}

/** The same as a canvas takes it, at an element: it differs by theme. */
export function colorAt(element: HTMLElement, at: number): string {
  const probe = document.createElement("span");
  probe.hidden = true;
  element.append(probe);
  probe.style.color = lineColor(at);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
