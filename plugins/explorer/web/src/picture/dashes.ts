import {
  createEdgeArrowHeadProgram,
  createEdgeClampedProgram,
  createEdgeCompoundProgram,
} from "sigma/rendering";

import type { EdgeAttributes, NodeAttributes } from "./look";

/** Of a dash and the gap behind it, and of the dash alone, in pixels. */
const PERIOD = "9.0";
const DASH = "5.0";

// The way from the source in pixels. NOTE: u_correctionRatio is half a pixel in units of the graph.
const ALONG = `varying float v_along;
void main() {
  v_along = a_positionCoef * length(a_positionEnd - a_positionStart) / (2.0 * u_correctionRatio);`;
// What is pointed at is the whole edge, with its gaps.
const GAPS = `varying float v_along;
void main(void) {
  #ifndef PICKING_MODE
  if (mod(v_along, ${PERIOD}) > ${DASH}) discard;
  #endif`;

interface Shaders {
  VERTEX_SHADER_SOURCE: string;
  FRAGMENT_SHADER_SOURCE: string;
}

/** Sigma's own straight edge, in dashes. Each call makes a class of its own, so it may be changed. */
function createDashedProgram() {
  const program = createEdgeClampedProgram<NodeAttributes, EdgeAttributes>();
  // NOTE: sigma's types leave out what every program tells of itself.
  const prototype = program.prototype as unknown as { getDefinition(): Shaders };
  const define = prototype.getDefinition;
  prototype.getDefinition = function (this: unknown): Shaders {
    const definition = define.call(this);
    return {
      ...definition,
      VERTEX_SHADER_SOURCE: definition.VERTEX_SHADER_SOURCE.replace("void main() {", ALONG),
      FRAGMENT_SHADER_SOURCE: definition.FRAGMENT_SHADER_SOURCE.replace("void main(void) {", GAPS),
    };
  };
  return program;
}

/** Dashes up to an arrow head. */
export const DashedArrowProgram = createEdgeCompoundProgram<NodeAttributes, EdgeAttributes>([
  createDashedProgram(),
  createEdgeArrowHeadProgram<NodeAttributes, EdgeAttributes>(),
]);
