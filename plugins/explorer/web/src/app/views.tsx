import {
  Boxes,
  ChartLine,
  Database,
  House,
  LayoutDashboard,
  MapPinned,
  Settings2,
  Terminal,
} from "lucide-react";
import { lazy, useState, type ComponentType } from "react";

import { getPart } from "./parts";
import type { Session } from "../session/session";

type Loaded = { default: ComponentType };

/** A view of the page. `path` is what stands in the URL behind the graph. */
export interface View {
  path: string;
  name: string;
  icon: ComponentType<{ size?: number; "aria-hidden"?: boolean }>;
  load(): Promise<Loaded>;
  component: ComponentType;
  /** Whether things of the graph are selected in it, which the inspector shows beside it. */
  inspected: boolean;
  /** With which others it stands in the navigation. */
  group: ViewGroup;
  /** Whether it is one of the few in the bar of a phone, rather than behind `More`. */
  inBar: boolean;
  /** Whether it is pictures, to which an inspector with nothing in it leaves its room. */
  pictures?: boolean;
}

export type ViewGroup = "graph" | "watch" | "run";

/** The groups of views in their order, with their names for those who hear the page. */
export const VIEW_GROUPS: readonly { id: ViewGroup; name: string }[] = [
  { id: "graph", name: "The graph" },
  { id: "watch", name: "Watching" },
  { id: "run", name: "Running" },
];

// PERF: each view is a chunk of its own; the first paint needs the shell alone.
const overview = chunk(() => import("../overview/OverviewView"));
const query = chunk(() => import("../query/QueryView"));
const chart = chunk(() => import("../time/ChartView"));
const maps = chunk(() => import("../maps/MapsView"));
const models = chunk(() => import("../models/ModelsView"));
const dashboards = chunk(() => import("../dashboards/DashboardsView"));
const data = chunk(() => import("../data/DataView"));
const control = chunk(() => import("../control/ControlView"));

const OF_GRAPH = { group: "graph", inspected: false, inBar: false } as const;
const OF_QUERY = { group: "graph", inspected: true, inBar: true } as const;
const OF_WATCH = { group: "watch", inspected: true, inBar: false } as const;
const OF_BOARDS = { group: "watch", inspected: false, inBar: true } as const;
const OF_RUN = { group: "run", inspected: false, inBar: false } as const;

export const VIEWS: View[] = [
  { path: "overview", name: "Overview", icon: House, ...overview, ...OF_GRAPH, inBar: true },
  { path: "query", name: "Query", icon: Terminal, ...query, ...OF_QUERY },
  { path: "dashboards", name: "Dashboards", icon: LayoutDashboard, ...dashboards, ...OF_BOARDS },
  { path: "chart", name: "Chart", icon: ChartLine, ...chart, ...OF_WATCH },
  { path: "maps", name: "Maps", icon: MapPinned, ...maps, ...OF_WATCH, pictures: true },
  { path: "models", name: "Models", icon: Boxes, ...models, ...OF_GRAPH },
  { path: "data", name: "Data", icon: Database, ...data, ...OF_RUN },
  { path: "control", name: "Control plane", icon: Settings2, ...control, ...OF_RUN },
];

/**
 * A component that is got when it is first needed. PERF: where it is there by then it is shown at
 * once. What React gets by `lazy` alone always begins with the fallback, and React lets 300 ms go
 * by before it takes a fallback away.
 */
function chunk(get: () => Promise<Loaded>): Pick<View, "load" | "component"> {
  let loaded: ComponentType | null = null;
  const load = async (): Promise<Loaded> => {
    const found = await getPart(get);
    loaded = found.default;
    return found;
  };
  const Late = lazy(load);
  return {
    load,
    component: function Chunk() {
      // Kept: another component in its place would lose what the view holds.
      const [Shown] = useState<ComponentType>(() => loaded ?? Late);
      return <Shown />;
    },
  };
}

/** The views that a session has something to show in. */
export function viewsOf(session: Session): View[] {
  return VIEWS.filter(({ path }) => {
    if (path === "control") return session.control !== null;
    return path !== "dashboards" || session.may("workspaces/read");
  });
}

/**
 * PERF: get the view that an address names while configuration and permissions are asked for, not
 * after them. An error comes again where the view is shown, and is told there.
 */
export function preloadView(pathname: string): void {
  const view = VIEWS.find((one) => pathname.endsWith(`/${one.path}`)) ?? VIEWS[0];
  view?.load().catch(() => undefined);
}
