// The one step of ForceAtlas2, which its package does not type.
declare module "graphology-layout-forceatlas2/iterate" {
  import type { ForceAtlas2Settings } from "graphology-layout-forceatlas2";
  /** Moves the nodes of the matrix once, in place. */
  export default function iterate(
    settings: ForceAtlas2Settings,
    nodes: Float32Array,
    edges: Float32Array,
  ): void;
}
