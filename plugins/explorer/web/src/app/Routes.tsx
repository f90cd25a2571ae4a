import { RouterProvider } from "react-aria-components";
import { Redirect, Route, Switch, useLocation } from "wouter";

import type { Configuration } from "../api/types";
import { SessionProvider } from "../session/SessionProvider";
import { Frame } from "./Frame";
import { FORMER_OWN, OWN_GRAPH, ROUTES_BASE, START, routeOf } from "./addresses";
import { useFragment, useSearch } from "./search";
import { VIEWS } from "./views";

/** `/{graphId}/{view}`; whatever is incomplete leads to the overview. */
export function Routes({ configuration }: { configuration: Configuration }) {
  const [, navigate] = useLocation();
  const search = useSearch();
  const fragment = useFragment();
  return (
    <RouterProvider navigate={(path) => navigate(path)} useHref={(path) => ROUTES_BASE + path}>
      <Switch>
        <Route path="/:graph/:view">
          {({ graph, view }) => {
            const shown = VIEWS.find((one) => one.path === view);
            if (shown === undefined) return <Redirect to={routeOf(graph, START)} replace />;
            const former = graph === FORMER_OWN && (
              <Redirect to={routeOf(OWN_GRAPH, view, search.slice(1)) + fragment} replace />
            );
            if (former && !configuration.hosting) return former;
            return (
              <SessionProvider
                key={graph}
                configuration={configuration}
                graphId={graph}
                otherwise={former}
              >
                <Frame view={shown} />
              </SessionProvider>
            );
          }}
        </Route>
        <Route path="/:graph">
          {({ graph }) => <Redirect to={routeOf(graph, START)} replace />}
        </Route>
        <Route>
          <Redirect to={routeOf(OWN_GRAPH, START)} replace />
        </Route>
      </Switch>
    </RouterProvider>
  );
}
