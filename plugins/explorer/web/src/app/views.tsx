import { Boxes, Settings2, Terminal } from "lucide-react";
import { lazy, type ComponentType, type LazyExoticComponent } from "react";

import type { Session } from "../session/session";

type Loaded = { default: ComponentType };

/** A view of the page. `path` is what stands in the URL behind the graph. */
export interface View {
  path: string;
  name: string;
  icon: ComponentType<{ size?: number; "aria-hidden"?: boolean }>;
  load(): Promise<Loaded>;
  component: LazyExoticComponent<ComponentType>;
  /** Whether things of the graph are selected in it, which the inspector shows beside it. */
  inspected: boolean;
}

// PERF: each view is a chunk of its own; the first paint needs the shell alone.
const loadQuery = (): Promise<Loaded> => import("../query/QueryView");
const loadModels = (): Promise<Loaded> => import("../models/ModelsView");
const loadControl = (): Promise<Loaded> => import("../control/ControlView");

export const VIEWS: View[] = [
  {
    path: "query",
    name: "Query",
    icon: Terminal,
    load: loadQuery,
    component: lazy(loadQuery),
    inspected: true,
  },
  {
    path: "models",
    name: "Models",
    icon: Boxes,
    load: loadModels,
    component: lazy(loadModels),
    inspected: false,
  },
  {
    path: "control",
    name: "Control plane",
    icon: Settings2,
    load: loadControl,
    component: lazy(loadControl),
    inspected: false,
  },
];

/** The views that a session has something to show in. */
export function viewsOf(session: Session): View[] {
  return VIEWS.filter((view) => view.path !== "control" || session.control !== null);
}

/**
 * PERF: get the view that an address names while configuration and permissions are asked for, not
 * after them. An error comes again where the view is shown, and is told there.
 */
export function preloadView(pathname: string): void {
  const view = VIEWS.find((one) => pathname.endsWith(`/${one.path}`)) ?? VIEWS[0];
  view?.load().catch(() => undefined);
}
