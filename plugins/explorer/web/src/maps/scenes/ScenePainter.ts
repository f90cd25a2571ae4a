import {
  AmbientLight,
  Box3,
  BufferGeometry,
  DirectionalLight,
  DoubleSide,
  EdgesGeometry,
  Frustum,
  LineBasicMaterial,
  LineSegments,
  Matrix4,
  Mesh,
  MeshLambertMaterial,
  PerspectiveCamera,
  Raycaster,
  Scene,
  Sphere,
  Spherical,
  Vector2,
  Vector3,
  WebGLRenderer,
  type Object3D,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";

import type { Palette } from "../../picture/palette";

/** How a node of a scene is drawn. */
export interface Look {
  /** Null is the colour of what has no twin. */
  color: string | null;
  state: "plain" | "selected" | "lit";
  /** How much of it is seen: what is seen through is pressed through, too. */
  sight: "solid" | "through" | "hidden";
}

interface Listener {
  /** The node that was pressed; null is none. */
  onPick(node: number | null): void;
  /** The node that the pointer is at, and where in the window of the scene. */
  onHover(node: number | null, x: number, y: number): void;
}

const SEEN_THROUGH = 0.16;
/** A press that moves no farther is a click, in pixels. */
const STILL = 5;
const TURN = Math.PI / 18;
/** Full light of a colour; the rest comes from the eye, so that sides differ. */
const LIGHT = { around: Math.PI * 0.62, ahead: Math.PI * 0.42 };
/** Edges between faces at a wider angle are drawn, in degrees. */
const EDGE = 30;
/** PERF: with more triangles edges take longer to find than anybody waits, and so does pointing. */
const MOST_EDGED = 400_000;
const MOST_HOVERED = 2_000_000;

interface Drawn {
  mesh: Mesh<BufferGeometry, MeshLambertMaterial>;
  edges: LineSegments<EdgesGeometry, LineBasicMaterial> | null;
  node: number;
}

/** The shapes of a packed scene, by the numbers of their nodes. Throws where they cannot be read. */
export async function loadShapes(glb: ArrayBuffer): Promise<[Mesh, number][]> {
  const { scene, parser } = await new GLTFLoader().parseAsync(glb, "");
  const shapes: [Mesh, number][] = [];
  scene.updateMatrixWorld(true);
  scene.traverse((one) => {
    if (!(one instanceof Mesh)) return;
    for (let at: Object3D | null = one; at !== null; at = at.parent) {
      const node = parser.associations.get(at)?.nodes;
      if (node !== undefined) return void shapes.push([one as Mesh, node]);
    }
  });
  return shapes;
}

/** Draws one scene by three.js, whenever something has changed. */
export class ScenePainter {
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly camera = new PerspectiveCamera(40, 1, 0.1, 1000);
  private readonly controls: OrbitControls;
  private readonly resizing: ResizeObserver;
  private readonly box = new Box3();
  private drawn: readonly Drawn[] = [];
  private looks: ReadonlyMap<number, Look> = new Map();
  private triangles = 0;
  /** Whether all is shown, and nobody has turned or moved it since. */
  private isWhole = true;
  private pressed: [number, number] | null = null;
  private frame = 0;
  private pointing = 0;

  constructor(
    private readonly host: HTMLElement,
    private readonly listener: Listener,
  ) {
    this.renderer = new WebGLRenderer({ antialias: true, alpha: true });
    const canvas = this.renderer.domElement;
    host.append(canvas);
    const sun = new DirectionalLight(0xffffff, LIGHT.ahead);
    sun.position.set(0.6, 1, 0.4);
    this.camera.add(sun, sun.target);
    sun.target.position.set(0, 0, -1);
    this.scene.add(this.camera, new AmbientLight(0xffffff, LIGHT.around));
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", () => {
      this.isWhole = false;
      this.ask();
    });
    canvas.addEventListener("pointerdown", this.press);
    canvas.addEventListener("pointerup", this.release);
    canvas.addEventListener("pointermove", this.point);
    canvas.addEventListener("pointerleave", this.leave);
    this.resizing = new ResizeObserver(() => this.resize());
    this.resizing.observe(host);
  }

  end(): void {
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.pointing);
    this.resizing.disconnect();
    this.controls.dispose();
    for (const { mesh, edges } of this.drawn) {
      for (const one of [mesh, edges]) {
        one?.geometry.dispose();
        one?.material.dispose();
      }
    }
    this.renderer.dispose();
    this.renderer.domElement.remove();
    delete this.host.dataset["drawn"];
  }

  /** Take up the shapes that `loadShapes` read. */
  take(shapes: readonly (readonly [Mesh, number])[]): void {
    for (const [{ geometry }] of shapes) {
      this.triangles += (geometry.index?.count ?? geometry.getAttribute("position").count) / 3;
    }
    const edgesOf = new Map<BufferGeometry, EdgesGeometry>();
    this.drawn = shapes.map(([found, node]) => {
      const mesh = found as Drawn["mesh"];
      const { geometry } = mesh;
      if (!geometry.hasAttribute("normal")) geometry.computeVertexNormals();
      mesh.material = new MeshLambertMaterial({
        side: DoubleSide,
        // Edges lie on the faces that they are of.
        polygonOffset: true,
        polygonOffsetFactor: 1,
        polygonOffsetUnits: 1,
      });
      let edges: Drawn["edges"] = null;
      if (this.triangles <= MOST_EDGED) {
        const known = edgesOf.get(geometry) ?? new EdgesGeometry(geometry, EDGE);
        edgesOf.set(geometry, known);
        edges = new LineSegments(known, new LineBasicMaterial({ transparent: true }));
        mesh.add(edges);
      }
      return { mesh, edges, node };
    });
    const roots = new Set(shapes.map(([mesh]) => rootOf(mesh)));
    for (const root of roots) this.scene.add(root);
    this.scene.updateMatrixWorld(true);
    this.box.copy(boxOf(this.drawn));
    this.isWhole = true;
    this.resize();
  }

  /** Draw each node as it looks now. */
  draw(looks: ReadonlyMap<number, Look>, palette: Palette): void {
    this.looks = looks;
    for (const { mesh, edges, node } of this.drawn) {
      const look = looks.get(node);
      const isThrough = look?.sight === "through";
      mesh.visible = look !== undefined && look.sight !== "hidden";
      const { material } = mesh;
      const told =
        look?.state === "lit"
          ? palette.warning
          : look?.state === "selected"
            ? palette.accent
            : null;
      material.color.set(look?.color ?? palette.muted);
      material.emissive.set(told ?? "#000000");
      // Its edges say it, too, and its colour stays that of its value.
      material.emissiveIntensity = 0.15;
      if (material.transparent !== isThrough) material.needsUpdate = true;
      material.transparent = isThrough;
      material.depthWrite = !isThrough;
      material.opacity = isThrough ? SEEN_THROUGH : 1;
      edges?.material.color.set(told ?? palette.text);
      if (edges !== null) edges.material.opacity = told !== null ? 1 : isThrough ? 0.12 : 0.35;
    }
    this.ask();
  }

  /** Show all of it, or of some nodes, from above and aside. */
  fit(nodes?: ReadonlySet<number>): void {
    const box = nodes === undefined ? this.box : boxOf(this.listDrawn(nodes));
    if (box.isEmpty()) return;
    const { center, radius } = box.getBoundingSphere(new Sphere());
    const height = (this.camera.fov * Math.PI) / 360;
    const width = Math.atan(Math.tan(height) * this.camera.aspect);
    const far = (Math.max(radius, 1e-4) / Math.sin(Math.min(height, width))) * 1.02;
    const whole = this.box.getBoundingSphere(new Sphere()).radius;
    this.camera.near = far / 500;
    this.camera.far = (far + whole) * 10;
    // What is kept of the way one looks is where some is looked for; all is shown as at first.
    const from =
      nodes === undefined
        ? new Vector3(0.55, 0.62, 0.7)
        : this.camera.position.clone().sub(this.controls.target);
    this.camera.position.copy(center).add(from.setLength(far));
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(center);
    this.controls.update();
    this.isWhole = nodes === undefined;
    this.ask();
  }

  /** Bring nodes into view, if they are not. */
  reveal(nodes: ReadonlySet<number>): void {
    const box = boxOf(this.listDrawn(nodes));
    if (box.isEmpty()) return;
    this.camera.updateMatrixWorld();
    const { projectionMatrix, matrixWorldInverse } = this.camera;
    const view = new Matrix4().multiplyMatrices(projectionMatrix, matrixWorldInverse);
    const center = box.getCenter(new Vector3());
    if (new Frustum().setFromProjectionMatrix(view).containsPoint(center)) return;
    this.move(center.sub(this.controls.target));
  }

  /** Turn around what is looked at, by steps to the right and up. */
  turn(across: number, up: number): void {
    const { target } = this.controls;
    const at = new Spherical().setFromVector3(this.camera.position.clone().sub(target));
    at.theta += across * TURN;
    at.phi += up * TURN;
    at.makeSafe();
    this.camera.position.setFromSpherical(at).add(target);
    this.controls.update();
    this.ask();
  }

  /** Move what is looked at, by shares of what is seen to the right and up. */
  pan(across: number, up: number): void {
    const far = this.camera.position.distanceTo(this.controls.target);
    const [right, above] = [new Vector3(), new Vector3()];
    this.camera.matrix.extractBasis(right, above, new Vector3());
    this.move(right.multiplyScalar(across * far).add(above.multiplyScalar(up * far)));
  }

  zoom(factor: number): void {
    const { target } = this.controls;
    this.camera.position.sub(target).divideScalar(factor).add(target);
    this.controls.update();
    this.ask();
  }

  private move(by: Vector3): void {
    this.controls.target.add(by);
    this.camera.position.add(by);
    this.controls.update();
    this.ask();
  }

  private listDrawn(nodes: ReadonlySet<number>): Drawn[] {
    return this.drawn.filter(({ node }) => nodes.has(node));
  }

  private readonly ask = (): void => {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      this.renderer.render(this.scene, this.camera);
      this.host.dataset["drawn"] = String(this.drawn.filter(({ mesh }) => mesh.visible).length);
    });
  };

  private resize(): void {
    const { clientWidth, clientHeight } = this.host;
    if (clientWidth === 0 || clientHeight === 0) return;
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio));
    this.renderer.setSize(clientWidth, clientHeight);
    this.camera.aspect = clientWidth / clientHeight;
    this.camera.updateProjectionMatrix();
    // The inspector takes room and gives it back.
    if (this.isWhole) this.fit();
    this.ask();
  }

  /** The node at a place of the window: one that is solid before one that is seen through. */
  private find({ clientX, clientY }: PointerEvent): number | null {
    const { left, top, width, height } = this.renderer.domElement.getBoundingClientRect();
    const caster = new Raycaster();
    const at = new Vector2(((clientX - left) / width) * 2 - 1, 1 - ((clientY - top) / height) * 2);
    caster.setFromCamera(at, this.camera);
    const nodes = new Map(this.drawn.map(({ mesh, node }) => [mesh as Object3D, node]));
    const seen = this.drawn.flatMap(({ mesh }) => (mesh.visible ? [mesh] : []));
    const hits = caster
      .intersectObjects(seen, false)
      .flatMap(({ object }) => nodes.get(object) ?? []);
    return hits.find((node) => this.looks.get(node)?.sight === "solid") ?? hits[0] ?? null;
  }

  private readonly press = ({ clientX, clientY }: PointerEvent): void => {
    this.pressed = [clientX, clientY];
  };

  private readonly release = (event: PointerEvent): void => {
    const [x, y] = this.pressed ?? [Infinity, Infinity];
    this.pressed = null;
    if (event.button !== 0 || Math.hypot(event.clientX - x, event.clientY - y) > STILL) return;
    this.listener.onPick(this.find(event));
  };

  private readonly point = (event: PointerEvent): void => {
    if (event.buttons !== 0 || event.pointerType === "touch") return this.leave();
    if (this.triangles > MOST_HOVERED) return;
    cancelAnimationFrame(this.pointing);
    this.pointing = requestAnimationFrame(() => {
      const { left, top } = this.host.getBoundingClientRect();
      const node = this.find(event);
      this.renderer.domElement.style.cursor = node === null ? "" : "pointer";
      this.listener.onHover(node, event.clientX - left, event.clientY - top);
    });
  };

  private readonly leave = (): void => {
    cancelAnimationFrame(this.pointing);
    this.listener.onHover(null, 0, 0);
  };
}

function rootOf(mesh: Object3D): Object3D {
  let at = mesh;
  while (at.parent !== null) at = at.parent;
  return at;
}

function boxOf(drawn: readonly Drawn[]): Box3 {
  const box = new Box3();
  for (const { mesh } of drawn) box.union(new Box3().setFromObject(mesh));
  return box;
}
