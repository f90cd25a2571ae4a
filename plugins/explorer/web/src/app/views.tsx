import { Boxes, Settings2, Terminal } from "lucide-react";
import { lazy, type ComponentType, type LazyExoticComponent } from "react";

import type { Session } from "../session/session";

/** A view of the page. `path` is what stands in the URL behind the graph. */
export interface View {
  path: string;
  name: string;
  icon: ComponentType<{ size?: number; "aria-hidden"?: boolean }>;
  component: LazyExoticComponent<ComponentType>;
  /** Whether things of the graph are selected in it, which the inspector shows beside it. */
  inspected: boolean;
}

// PERF: each view is a chunk of its own; the first paint needs the shell alone.
export const VIEWS: View[] = [
  {
    path: "query",
    name: "Query",
    icon: Terminal,
    component: lazy(() => import("../query/QueryView")),
    inspected: true,
  },
  {
    path: "models",
    name: "Models",
    icon: Boxes,
    component: lazy(() => import("../models/ModelsView")),
    inspected: false,
  },
  {
    path: "control",
    name: "Control plane",
    icon: Settings2,
    component: lazy(() => import("../control/ControlView")),
    inspected: false,
  },
];

/** The views that a session has something to show in. */
export function viewsOf(session: Session): View[] {
  return VIEWS.filter((view) => view.path !== "control" || session.control !== null);
}
