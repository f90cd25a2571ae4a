import { createEdgeCurveProgram } from "@sigma/edge-curve";
import { createNodeImageProgram } from "@sigma/node-image";
import { MultiDirectedGraph } from "graphology";
import Sigma from "sigma";
import { createEdgeArrowProgram, EdgeLineProgram, NodePointProgram } from "sigma/rendering";
import type { CameraState } from "sigma/types";
import { animateNodes } from "sigma/utils";

import type { ModelIndex } from "../models/index";
import type { Board } from "./board";
import { listCurves } from "./curves";
import { DashedArrowProgram } from "./dashes";
import { edgeLabelDrawer, hoverDrawer, labelDrawer } from "./draw";
import { Labels } from "./labels";
import { placeSeed } from "./layout/shapes";
import { Loops } from "./loops";
import { drawEdge, drawNode, type EdgeAttributes, type Look, type NodeAttributes } from "./look";
import { modelOf, type Contents } from "./model";
import { DOUBLE_CLICK } from "./pointer";
import { dressRelationship, dressTwin, memberOf, PLAIN, type Style } from "./style";
import type { Place } from "./store";

/** From so many nodes on a layout is shown at once: moving them smoothly would stutter. */
const MOST_ANIMATED = 1500;
/** A node is a hub if it has so many times more relationships than nodes have in the mean. */
const HUB = 3;
/** The least that is taken for a view, in pixels: while a panel opens there may be none. */
const LEAST_VIEW = 200;
/** An arrow head for the thickness of its edge: it is seen where edges are a pixel thick. */
const ARROW_HEAD = { lengthToThicknessRatio: 5.5, widenessToThicknessRatio: 4.5 };
/** Between the picture and the border of the view, in pixels. */
const PADDING = 40;
const NONE: ReadonlySet<string> = new Set();
const ALONE: ReadonlyMap<string, number> = new Map();

export type PictureGraph = MultiDirectedGraph<NodeAttributes, EdgeAttributes>;

/** The drawing of a picture with sigma. It knows no React and of its board no more than places. */
export class Painter {
  readonly graph: PictureGraph = new MultiDirectedGraph<NodeAttributes, EdgeAttributes>();
  readonly sigma: Sigma<NodeAttributes, EdgeAttributes>;
  readonly labels = new Labels();
  readonly loops = new Loops();
  private stopMoving: () => void = () => undefined;
  private near: { id: string | null; edge: string | null } = { id: null, edge: null };
  private framed: ReadonlySet<string> | null = null;
  private killed = false;

  constructor(
    container: HTMLElement,
    private look: Look,
    private readonly icons: ReadonlyMap<string, string>,
    readonly board: Board,
  ) {
    const palette = () => this.look.palette;
    const drawLabel = labelDrawer(palette, this.labels);
    const drawEdgeLabel = edgeLabelDrawer(palette, this.labels);
    const drawHover = hoverDrawer(palette);
    const icon = createNodeImageProgram<NodeAttributes, EdgeAttributes>({
      padding: 0.22,
      size: { mode: "force", value: 64 },
      drawLabel,
      drawHover,
    });
    const curve = createEdgeCurveProgram<NodeAttributes, EdgeAttributes>({
      arrowHead: { extremity: "target", ...ARROW_HEAD },
      drawLabel: drawEdgeLabel,
    });
    this.sigma = new Sigma<NodeAttributes, EdgeAttributes>(this.graph, container, {
      allowInvalidContainer: true,
      nodeProgramClasses: { icon, point: NodePointProgram },
      edgeProgramClasses: {
        arrow: createEdgeArrowProgram<NodeAttributes, EdgeAttributes>(ARROW_HEAD),
        curve,
        dashed: DashedArrowProgram,
        line: EdgeLineProgram,
      },
      defaultNodeType: "icon",
      defaultEdgeType: "arrow",
      defaultDrawNodeLabel: drawLabel,
      defaultDrawNodeHover: drawHover,
      defaultDrawEdgeLabel: drawEdgeLabel,
      nodeReducer: (id, data) => drawNode(id, data, this.look),
      edgeReducer: (key, data) => drawEdge(key, data, this.look),
      zIndex: true,
      labelFont: "system-ui, 'DejaVu Sans', sans-serif",
      labelSize: 12,
      edgeLabelFont: "system-ui, 'DejaVu Sans', sans-serif",
      edgeLabelSize: 11,
      // Many are proposed, the largest of each square; those that have no room are left out.
      labelDensity: 3,
      labelGridCellSize: 90,
      labelRenderedSizeThreshold: 3.5,
      renderEdgeLabels: true,
      doubleClickTimeout: DOUBLE_CLICK,
      stagePadding: PADDING,
      minCameraRatio: 0.005,
      maxCameraRatio: 4,
    });
    this.labels.watch(this.sigma);
    this.loops.watch(this.sigma, this.labels);
    this.setLook(look);
  }

  /**
   * Draw these; what stays keeps its place, what comes begins beside a neighbour. `within`: for how
   * many others a node stands.
   */
  sync(
    contents: Contents,
    index: ModelIndex,
    style: Style = PLAIN,
    within: ReadonlyMap<string, number> = ALONE,
  ): void {
    const { graph } = this;
    for (const key of graph.edges()) {
      const one = contents.edges.get(key);
      const [source, target] = graph.extremities(key);
      if (one?.$sourceId !== source || one.$targetId !== target) graph.dropEdge(key);
    }
    const gone = graph.nodes().filter((id) => !contents.nodes.has(id));
    // What moves to its place may be among them.
    if (gone.length > 0) this.endMoving();
    for (const id of gone) graph.dropNode(id);
    const anchors = listAnchors(contents, graph);
    let seed = graph.order;
    for (const [id, twin] of contents.nodes) {
      const model = modelOf(twin);
      const own = memberOf(style.models, model);
      const others = within.get(id) ?? 0;
      const dress = dressTwin(id, twin, style, index);
      const facts = {
        ...dress,
        label: others > 0 ? `${dress.label} · ${others.toLocaleString()}` : dress.label,
        image: this.icons.get(index.icon(model)) ?? "",
        factor: (own?.size ?? 1) * (1 + 0.06 * Math.log2(1 + others)),
      };
      if (graph.hasNode(id)) {
        graph.mergeNodeAttributes(id, facts);
        continue;
      }
      const place =
        this.board.places.get(id) ?? this.besides(anchors.get(id), seed) ?? placeSeed(seed);
      seed += 1;
      graph.addNode(id, { ...place, ...facts, size: 6, hub: false });
    }
    this.syncEdges(contents, index, style);
    const { width, height } = this.view();
    const usual = (2 * graph.size) / Math.max(1, graph.order);
    graph.updateEachNodeAttributes((id, data) => {
      const hub = graph.degree(id) > HUB * usual || within.has(id);
      return { ...data, size: data.factor * this.sizeOf(id, width * height), hub };
    });
  }

  private syncEdges({ edges }: Contents, index: ModelIndex, style: Style): void {
    const { graph, board } = this;
    const curves = listCurves(edges, (one) => board.kindOf?.(one) === "extends");
    for (const [key, one] of edges) {
      const curvature = curves.get(key) ?? 0;
      const name = one.$relationshipName;
      const color = dressRelationship(name, style, index);
      if (graph.hasEdge(key)) {
        const { curvature: bent, color: worn } = graph.getEdgeAttributes(key);
        if (bent !== curvature || worn !== color) {
          graph.mergeEdgeAttributes(key, { curvature, color });
        }
        continue;
      }
      const [source, target] = [one.$sourceId, one.$targetId];
      const kind = board.kindOf?.(one) ?? null;
      // What is dashed needs no word.
      const label = kind === "extends" ? "" : name;
      const facts = { label, source, target, curvature, kind, color };
      graph.addEdgeWithKey(key, source, target, facts);
    }
    this.loops.take(graph);
  }

  private besides(anchor: string | undefined, seed: number): Place | null {
    if (anchor === undefined || !this.graph.hasNode(anchor)) return null;
    const { x, y } = this.graph.getNodeAttributes(anchor);
    const offset = placeSeed(seed % 40);
    return { x: x + offset.x * 0.4, y: y + offset.y * 0.4 };
  }

  /** What the whole picture is fitted into, in pixels. */
  view(): { width: number; height: number } {
    const { width, height } = this.sigma.getDimensions();
    return {
      width: Math.max(LEAST_VIEW, width - 2 * PADDING),
      height: Math.max(LEAST_VIEW, height - 2 * PADDING),
    };
  }

  /** A radius in pixels: the more there are the smaller, and hubs larger than leaves. */
  private sizeOf(id: string, area: number): number {
    const room = Math.sqrt(area / Math.max(1, this.graph.order));
    const base = Math.min(11, Math.max(2.2, 0.16 * room));
    return base * (1 + Math.min(0.8, 0.12 * Math.log2(1 + this.graph.degree(id))));
  }

  /** Draw all anew. What is near stays so: that is the painter's own. */
  setLook(look: Look): void {
    this.look = { ...look, near: this.listNear() };
    // PERF: of a large picture the edges and labels come back when it stands still.
    this.sigma.setSettings({
      hideEdgesOnMove: look.large,
      hideLabelsOnMove: look.large,
      renderEdgeLabels: !look.large,
    });
    // NOTE: sigma keeps a place for each by its type, which a look may change: all are indexed anew.
    this.sigma.refresh({ schedule: true });
  }

  /** Whether the pointer hits relationships: in a large picture they are everywhere. */
  get hitsEdges(): boolean {
    return !this.look.large;
  }

  /**
   * Tell a twin apart with what leads to and from it, or a relationship, as the pointer or the
   * keyboard is there.
   */
  setNear(id: string | null, edge: string | null = null): void {
    if (id === this.near.id && edge === this.near.edge) return;
    const before = this.look.near;
    this.near = { id, edge };
    const near = this.listNear();
    this.look = { ...this.look, near };
    // PERF: only these are drawn anew; their types stay, so that nothing is indexed.
    const partialGraph = {
      nodes: [before, near]
        .flatMap((one) =>
          one === null ? [] : [...(one.id === null ? [] : [one.id]), ...one.nodes],
        )
        .filter((one) => this.graph.hasNode(one)),
      edges: [...(before?.edges ?? []), ...(near?.edges ?? [])].filter((key) =>
        this.graph.hasEdge(key),
      ),
    } as { nodes: string[]; edges: string[] };
    this.sigma.refresh({ partialGraph, skipIndexation: true, schedule: true });
  }

  private listNear(): Look["near"] {
    const { id, edge } = this.near;
    if (id === null) return edge === null ? null : { id, nodes: NONE, edges: new Set([edge]) };
    if (!this.graph.hasNode(id)) return null;
    const nodes = this.board.lightsNeighbours === true ? this.graph.neighbors(id) : [];
    return { id, nodes: new Set(nodes), edges: new Set(this.graph.edges(id)) };
  }

  /** Move nodes to these places: softly where there are few. */
  move(moved: ReadonlyMap<string, Place>, softly: boolean): void {
    for (const [id, place] of moved) this.board.places.set(id, place);
    this.stopMoving();
    if (softly && moved.size <= MOST_ANIMATED && !prefersStillness()) {
      const targets = Object.fromEntries(
        [...moved].flatMap(([id, { x, y }]) => (this.graph.hasNode(id) ? [[id, { x, y }]] : [])),
      );
      this.stopMoving = animateNodes(this.graph, targets, { duration: 450 });
      return;
    }
    this.graph.updateEachNodeAttributes(
      (id, data) => {
        const place = moved.get(id);
        return place === undefined ? data : { ...data, ...place };
      },
      { attributes: ["x", "y"] },
    );
  }

  /** All are at once where they were moving to. */
  private endMoving(): void {
    this.stopMoving();
    this.graph.updateEachNodeAttributes((id, data) => ({ ...data, ...this.board.places.get(id) }), {
      attributes: ["x", "y"],
    });
  }

  /** From now on these nodes are what fills the view; null is the whole picture. */
  frame(ids: ReadonlySet<string> | null): void {
    this.framed = ids;
    this.fit();
  }

  /** Let the whole picture fill the view, or what is framed of it. */
  fit(): void {
    this.sigma.setCustomBBox(this.framed === null ? null : this.measure(this.framed));
    this.sigma.refresh({ schedule: true });
    this.animate({ x: 0.5, y: 0.5, ratio: 1, angle: 0 }, 300);
  }

  /** The box around some nodes; null where it would be empty. */
  private measure(ids: Iterable<string>): { x: [number, number]; y: [number, number] } | null {
    const at = [...ids].flatMap((id) => {
      // Where it is going to be: it may be on its way.
      return this.graph.hasNode(id) ? [this.board.places.get(id) ?? this.placeOf(id)] : [];
    });
    if (at.length === 0) return null;
    const span = (values: number[]): [number, number] => [Math.min(...values), Math.max(...values)];
    return { x: span(at.map(({ x }) => x)), y: span(at.map(({ y }) => y)) };
  }

  zoom(factor: number): void {
    const camera = this.sigma.getCamera();
    this.animate({ ratio: camera.getBoundedRatio(camera.ratio / factor) }, 200);
  }

  private animate(state: Partial<CameraState>, duration: number): void {
    const still = prefersStillness() ? 1 : duration;
    // What is hidden on the move comes back with the frame after the last.
    void this.sigma
      .getCamera()
      .animate(state, { duration: still })
      .then(() => {
        if (!this.killed) this.sigma.scheduleRender();
      });
  }

  /** Whether somebody moves the view just now. */
  isMoved(): boolean {
    const mouse = this.sigma.getMouseCaptor();
    return mouse.isMouseDown || mouse.isMoving || this.sigma.getCamera().isAnimated();
  }

  placeOf(id: string): Place {
    const { x, y } = this.graph.getNodeAttributes(id);
    return { x, y };
  }

  /** Where a node is in the view, in pixels. */
  whereIs(id: string): Place {
    return this.sigma.graphToViewport(this.placeOf(id));
  }

  /** Move the view so that a node is in it, if it is not. */
  reveal(id: string): void {
    const at = this.sigma.getNodeDisplayData(id);
    if (at === undefined) return;
    const { x, y } = this.whereIs(id);
    const { width, height } = this.sigma.getDimensions();
    if (x > 20 && y > 20 && x < width - 20 && y < height - 20) return;
    this.animate({ x: at.x, y: at.y }, 250);
  }

  kill(): void {
    this.stopMoving();
    this.killed = true;
    this.sigma.kill();
  }
}

function prefersStillness(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** For new nodes a neighbour that is drawn already. */
function listAnchors(contents: Contents, graph: PictureGraph): ReadonlyMap<string, string> {
  const anchors = new Map<string, string>();
  for (const { $sourceId, $targetId } of contents.edges.values()) {
    if (graph.hasNode($sourceId) && !graph.hasNode($targetId)) anchors.set($targetId, $sourceId);
    if (graph.hasNode($targetId) && !graph.hasNode($sourceId)) anchors.set($sourceId, $targetId);
  }
  return anchors;
}
