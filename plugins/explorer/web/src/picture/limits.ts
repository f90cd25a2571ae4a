/** From how many nodes or edges on a picture is large: then each is drawn the cheap way. */
export interface Limits {
  nodes: number;
  edges: number;
}

const GRAPHICS_CARD: Limits = { nodes: 1500, edges: 3000 };
// PERF: a software renderer draws every instance by itself, at about 25 µs each, and an arrow is
// four of them: this is what it manages within a frame or two.
const SOFTWARE: Limits = { nodes: 500, edges: 900 };

let known: Limits | null = null;

/** What this browser can draw in full; asked once. */
export function readLimits(): Limits {
  known ??= isSoftware(document.createElement("canvas").getContext("webgl2"))
    ? SOFTWARE
    : GRAPHICS_CARD;
  return known;
}

function isSoftware(gl: WebGL2RenderingContext | null): boolean {
  if (gl === null) return true;
  const told = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(told?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}
