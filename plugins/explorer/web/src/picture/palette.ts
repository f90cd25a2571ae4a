/** The colours of the page as WebGL and canvas take them: `rgb(…)`. */
export interface Palette {
  ground: string;
  text: string;
  muted: string;
  line: string;
  /** Of models: what leads from one to another, and what one has as a part. */
  relationship: string;
  component: string;
  accent: string;
  warning: string;
  /** Of what was created, updated and deleted between two moments. */
  created: string;
  updated: string;
  deleted: string;
  /** Nodes and edges that stand back. */
  dim: string;
}

/** The colours that hold at an element now; they differ by theme. */
export function readPalette(element: HTMLElement): Palette {
  const probe = document.createElement("span");
  probe.hidden = true;
  element.append(probe);
  const read = (value: string): string => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };
  const palette = {
    ground: read("var(--ground)"),
    text: read("var(--text)"),
    muted: read("var(--text-muted)"),
    line: read("light-dark(#b9c1cb, #4b5562)"),
    relationship: read("light-dark(#3478c8, #5b93d6)"),
    component: read("light-dark(#b4601a, #d1914d)"),
    accent: read("var(--accent)"),
    warning: read("var(--warning)"),
    created: read("light-dark(#116329, #3fb950)"),
    updated: read("light-dark(#9a6700, #d29922)"),
    deleted: read("light-dark(#b3261e, #ff7b72)"),
    dim: read("light-dark(#e6e9ed, #21262d)"),
  };
  probe.remove();
  return palette;
}
