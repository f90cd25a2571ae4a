import type { FeatureCollection, Geometry } from "geojson";
import {
  Map as LibreMap,
  NavigationControl,
  ScaleControl,
  setWorkerUrl,
  type GeoJSONSource,
  type StyleSpecification,
} from "maplibre-gl";
import workerUrl from "maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url";
import "maplibre-gl/dist/maplibre-gl.css";

import type { Palette } from "../../picture/palette";
import type { DrawnTwin } from "../useDrawn";
import { boxOf, buildGraticule, type Box } from "./geometry";
import "./geo.css";

// SEC: a file of the page, so that its policy need not allow workers of `blob:`.
setWorkerUrl(workerUrl);

const NOTHING: FeatureCollection = { type: "FeatureCollection", features: [] };
/** A point alone would be shown from so near that nothing is beside it. */
const NEAREST = 17;
const PADDING = 48;
/** Layers by which twins are found below the pointer, those on top first. */
const HIT = ["points", "lines", "areas"];
/** A finger is as wide, in pixels each way. */
const REACH = 4;

interface Listener {
  onSelect(id: string | null): void;
  onError(error: Error): void;
}

/** Draws twins by MapLibre. Nothing comes from another host: fonts are those of the browser. */
export class MapPainter {
  private readonly map: LibreMap;
  private features: FeatureCollection = NOTHING;
  private palette: Palette | null = null;
  private isReady = false;
  private hasFitted = false;
  private selected: readonly Geometry[] = [];
  private readonly resizing: ResizeObserver;

  constructor(
    private readonly host: HTMLElement,
    listener: Listener,
  ) {
    this.map = new LibreMap({
      container: host,
      style: { version: 8, sources: {}, layers: [] },
      attributionControl: false,
      dragRotate: false,
      pitchWithRotate: false,
      renderWorldCopies: false,
      fadeDuration: 0,
      center: [0, 20],
      zoom: 1,
    });
    this.map.touchZoomRotate.disableRotation();
    this.map.addControl(new NavigationControl({ showCompass: false }), "top-right");
    this.map.addControl(new ScaleControl({ maxWidth: 120 }), "bottom-left");
    this.map.on("error", ({ error }) => listener.onError(new Error(error.message)));
    this.map.on("style.load", () => {
      this.isReady = true;
      this.show();
    });
    this.map.on("moveend", () => this.showGraticule());
    this.map.on("idle", () => {
      this.host.dataset["drawn"] = String(this.features.features.length);
    });
    this.map.on("click", ({ point: { x, y } }) => {
      const box: [[number, number], [number, number]] = [
        [x - REACH, y - REACH],
        [x + REACH, y + REACH],
      ];
      const layers = HIT.filter((one) => this.map.getLayer(one));
      const [found] = this.map.queryRenderedFeatures(box, { layers });
      const id: unknown = found?.properties["id"];
      listener.onSelect(typeof id === "string" ? id : null);
    });
    for (const layer of HIT) {
      this.map.on("mouseenter", layer, () => (this.map.getCanvas().style.cursor = "pointer"));
      this.map.on("mouseleave", layer, () => (this.map.getCanvas().style.cursor = ""));
    }
    this.map
      .getCanvas()
      .setAttribute("aria-label", "Map of twins: arrow keys move it, + and - zoom");
    this.resizing = new ResizeObserver(() => {
      this.map.resize();
      this.reveal(this.selected);
    });
    this.resizing.observe(host);
  }

  end(): void {
    this.resizing.disconnect();
    this.map.remove();
  }

  /** Draw in the colours of a theme. */
  wear(palette: Palette): void {
    this.palette = palette;
    this.isReady = false;
    this.map.setStyle(buildStyle(palette), { diff: false });
  }

  draw(
    drawn: ReadonlyMap<string, DrawnTwin>,
    shapes: ReadonlyMap<string, Geometry[]>,
    selected: string | null,
    lit: ReadonlySet<string>,
  ): void {
    this.features = {
      type: "FeatureCollection",
      features: [...shapes].flatMap(([id, geometries]) => {
        const twin = drawn.get(id);
        if (twin === undefined) return [];
        const { label, color } = twin;
        const properties = { id, label, color, selected: selected === id, lit: lit.has(id) };
        return geometries.map((geometry) => ({ type: "Feature" as const, properties, geometry }));
      }),
    };
    if (!this.hasFitted) {
      this.hasFitted = true;
      this.fit(boxOf([...shapes.values()].flat()));
    }
    this.show();
  }

  /** Bring geometries into view, if they are not. */
  reveal(geometries: readonly Geometry[]): void {
    this.selected = geometries;
    const box = boxOf(geometries);
    if (box === null) return;
    const bounds = this.map.getBounds();
    const [west, south, east, north] = box;
    if (bounds.contains([west, south]) && bounds.contains([east, north])) return;
    const near = this.map.cameraForBounds(box, { padding: PADDING })?.zoom ?? 0;
    const center: [number, number] = [(west + east) / 2, (south + north) / 2];
    this.map.easeTo({ center, zoom: Math.min(near, this.map.getZoom()) });
  }

  private fit(box: Box | null): void {
    if (box === null) return;
    this.map.fitBounds(box, { padding: PADDING, maxZoom: NEAREST, animate: false });
  }

  private show(): void {
    if (!this.isReady) return;
    void this.source("twins")?.setData(this.features);
    this.showGraticule();
  }

  private showGraticule(): void {
    if (!this.isReady || this.palette === null) return;
    const [[west, south], [east, north]] = this.map.getBounds().toArray();
    void this.source("graticule")?.setData(buildGraticule([west, south, east, north]));
  }

  private source(name: string): GeoJSONSource | undefined {
    return this.map.getSource<GeoJSONSource>(name);
  }
}

const FONT = ["sans-serif"];

/** A plain style of our own: the ground, a graticule, and the twins. */
function buildStyle(palette: Palette): StyleSpecification {
  const edge = ["case", ["get", "lit"], palette.warning, ["get", "selected"], palette.accent];
  const isTold = ["any", ["get", "lit"], ["get", "selected"]];
  const label = {
    "text-field": ["get", "label"],
    "text-font": FONT,
    "text-size": 13,
    "text-optional": true,
    "symbol-sort-key": ["case", isTold, 0, 1],
  };
  const ink = {
    "text-color": palette.text,
    "text-halo-color": palette.ground,
    "text-halo-width": 1.5,
  };
  // NOTE: expressions are tuples in its types, which arrays written so are not.
  return {
    version: 8,
    sources: {
      graticule: { type: "geojson", data: NOTHING },
      twins: { type: "geojson", data: NOTHING },
    },
    layers: [
      { id: "ground", type: "background", paint: { "background-color": palette.ground } },
      {
        id: "graticule",
        type: "line",
        source: "graticule",
        paint: { "line-color": palette.dim, "line-width": 1 },
      },
      {
        id: "degrees",
        type: "symbol",
        source: "graticule",
        layout: {
          "symbol-placement": "line",
          "symbol-spacing": 420,
          "text-field": ["get", "name"],
          "text-font": FONT,
          "text-size": 10,
        },
        paint: {
          "text-color": palette.muted,
          "text-halo-color": palette.ground,
          "text-halo-width": 1,
        },
      },
      {
        id: "areas",
        type: "fill",
        source: "twins",
        filter: ["==", ["geometry-type"], "Polygon"],
        paint: { "fill-color": ["get", "color"], "fill-opacity": ["case", isTold, 0.75, 0.5] },
      },
      {
        id: "edges",
        type: "line",
        source: "twins",
        filter: ["==", ["geometry-type"], "Polygon"],
        paint: {
          "line-color": [...edge, ["get", "color"]],
          "line-width": ["case", isTold, 3.5, 1.5],
        },
      },
      {
        id: "lines",
        type: "line",
        source: "twins",
        filter: ["==", ["geometry-type"], "LineString"],
        paint: {
          "line-color": [...edge, ["get", "color"]],
          "line-width": ["case", isTold, 6, 3],
        },
      },
      {
        id: "points",
        type: "circle",
        source: "twins",
        filter: ["==", ["geometry-type"], "Point"],
        paint: {
          "circle-color": ["get", "color"],
          "circle-radius": ["case", isTold, 10, 7],
          "circle-stroke-color": [...edge, palette.ground],
          "circle-stroke-width": ["case", isTold, 3.5, 1.5],
        },
      },
      {
        id: "labels",
        type: "symbol",
        source: "twins",
        filter: ["!=", ["geometry-type"], "Point"],
        layout: label,
        paint: ink,
      },
      {
        id: "point-labels",
        type: "symbol",
        source: "twins",
        filter: ["==", ["geometry-type"], "Point"],
        layout: { ...label, "text-anchor": "top", "text-offset": [0, 0.8] },
        paint: ink,
      },
    ],
  } as unknown as StyleSpecification;
}
