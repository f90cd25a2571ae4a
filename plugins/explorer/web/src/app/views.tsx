import { Boxes, Settings2, Terminal } from "lucide-react";
import { lazy, type ComponentType, type LazyExoticComponent } from "react";

/** A view of the page. `path` is what stands in the URL behind the graph. */
export interface View {
  path: string;
  name: string;
  icon: ComponentType<{ size?: number; "aria-hidden"?: boolean }>;
  component: LazyExoticComponent<ComponentType>;
}

// PERF: each view is a chunk of its own; the first paint needs the shell alone.
export const VIEWS: View[] = [
  {
    path: "query",
    name: "Query",
    icon: Terminal,
    component: lazy(() => import("../query/QueryView")),
  },
  {
    path: "models",
    name: "Models",
    icon: Boxes,
    component: lazy(() => import("../models/ModelsView")),
  },
  {
    path: "control",
    name: "Control plane",
    icon: Settings2,
    component: lazy(() => import("../control/ControlView")),
  },
];
