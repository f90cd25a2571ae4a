import type Sigma from "sigma";

import { Crowd, type Rectangle } from "./crowd";
import type { EdgeAttributes, NodeAttributes } from "./look";

/** A label that would be drawn beside its node, in pixels of the view. */
export interface Wish {
  x: number;
  y: number;
  /** Of its node. */
  radius: number;
  width: number;
  height: number;
  /** Its label is wanted the most: it may cover nodes. */
  isHub: boolean;
  draw(room: Rectangle): void;
}

export interface View {
  width: number;
  height: number;
}

/** Between a node and its label. */
const GAP = 3;
/** So many labels are drawn in any case, if need be over nodes. */
const LEAST = 10;

/**
 * Where labels stand that have room: those of the largest nodes first, each at the first side of its
 * node where it is in the view and covers neither a label nor a node. Those of hubs may cover nodes,
 * and so may some others where hardly any would be drawn. Labels never cover each other.
 */
export function placeLabels(
  wishes: readonly Wish[],
  nodes: Crowd,
  taken: Crowd,
  view: View,
): [Wish, Rectangle][] {
  const placed: [Wish, Rectangle][] = [];
  const seat = (wish: Wish, room: Rectangle | undefined): boolean => {
    if (room === undefined) return false;
    taken.add(room);
    placed.push([wish, room]);
    return true;
  };
  const sorted = [...wishes].sort((one, other) => other.radius - one.radius);
  const left = sorted.filter((wish) => {
    const rooms = listRooms(wish, view).filter((room) => !taken.meets(room));
    const clear = rooms.find((room) => !nodes.meets(room));
    return !seat(wish, clear ?? (wish.isHub ? rooms[0] : undefined));
  });
  for (const wish of left) {
    if (placed.length >= LEAST) break;
    seat(
      wish,
      listRooms(wish, view).find((room) => !taken.meets(room)),
    );
  }
  return placed;
}

/** The rooms beside a node that are in the view, the best first. */
function listRooms({ x, y, radius, width, height }: Wish, view: View): Rectangle[] {
  const away = radius + GAP;
  const at = (left: number, top: number): Rectangle => {
    return { left, top, right: left + width, bottom: top + height };
  };
  return [
    at(x + away, y - height / 2),
    at(x - away - width, y - height / 2),
    at(x - width / 2, y + away),
    at(x - width / 2, y - away - height),
  ].filter(({ left, top, right, bottom }) => {
    return left >= 0 && top >= 0 && right <= view.width && bottom <= view.height;
  });
}

type Drawing = Sigma<NodeAttributes, EdgeAttributes>;

/** The labels of one drawing. Those of a frame are collected, as sigma proposes them in no order. */
export class Layer {
  private wishes: Wish[] = [];
  private nodes: Crowd | null = null;
  private taken = new Crowd();
  private along = new Crowd();
  private readonly keys = new Set<string>();

  constructor(private readonly sigma: Drawing) {
    sigma.on("beforeRender", () => {
      this.wishes = [];
      this.taken = new Crowd();
      this.nodes = null;
      this.clearAlong();
    });
    // Of a frame without relationships nobody else asks for it.
    sigma.on("afterRender", () => this.settle());
  }

  /** A node of this key would have a label. */
  wish(key: string, wish: Omit<Wish, "isHub">): void {
    this.wishes.push({ ...wish, isHub: this.sigma.getGraph().getNodeAttribute(key, "hub") });
  }

  /** Keep this room clear, whatever stands there. */
  keep(room: Rectangle): void {
    this.taken.add(room);
  }

  /** Draws the labels of the nodes that have room. */
  private settle(): void {
    if (this.wishes.length === 0) return;
    const view = this.sigma.getDimensions();
    const placed = placeLabels(this.wishes, this.listNodes(), this.taken, view);
    this.wishes = [];
    for (const [wish, room] of placed) wish.draw(room);
  }

  /** Takes room for the label along an edge: none where it would cover labels or nodes. */
  takeAlong(key: string, rooms: readonly Rectangle[]): boolean {
    this.settle();
    // NOTE: sigma draws these again, without a frame of its own, when the pointer comes to a node.
    if (this.keys.has(key)) this.clearAlong();
    this.keys.add(key);
    const nodes = this.listNodes();
    const isTaken = rooms.some(
      (room) => nodes.meets(room) || this.taken.meets(room) || this.along.meets(room),
    );
    if (!isTaken) for (const room of rooms) this.along.add(room);
    return !isTaken;
  }

  private clearAlong(): void {
    this.keys.clear();
    this.along = new Crowd();
  }

  /** The rooms of the nodes that are in view. */
  private listNodes(): Crowd {
    if (this.nodes !== null) return this.nodes;
    const crowd = (this.nodes = new Crowd());
    const { sigma } = this;
    const { width, height } = sigma.getDimensions();
    sigma.getGraph().forEachNode((id) => {
      const data = sigma.getNodeDisplayData(id);
      if (data === undefined || data.hidden) return;
      const { x, y } = sigma.framedGraphToViewport(data);
      const radius = sigma.scaleSize(data.size);
      if (x < -radius || y < -radius || x > width + radius || y > height + radius) return;
      crowd.add({ left: x - radius, top: y - radius, right: x + radius, bottom: y + radius });
    });
    return crowd;
  }
}

/** The labels of each drawing, by the layers that it is drawn on: a saved image has its own. */
export class Labels {
  private readonly layers = new WeakMap<CanvasRenderingContext2D, Layer>();

  watch(sigma: Drawing): void {
    const layer = new Layer(sigma);
    const { labels, edgeLabels } = sigma.getCanvases();
    for (const canvas of [labels, edgeLabels]) {
      const context = canvas?.getContext("2d");
      if (context) this.layers.set(context, layer);
    }
  }

  of(context: CanvasRenderingContext2D): Layer | undefined {
    return this.layers.get(context);
  }
}
