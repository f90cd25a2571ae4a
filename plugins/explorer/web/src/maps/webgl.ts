/** What to say where a map or a scene cannot be drawn. */
export const NO_WEBGL =
  "This browser cannot draw it: WebGL is missing or switched off. The list beside it works; floor " +
  "plans need no WebGL.";

/** Whether this browser can draw by WebGL 2; asked anew, as a driver may come back. */
export function hasWebGl(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2");
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return gl !== null;
}
