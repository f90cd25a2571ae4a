import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, type ReactNode } from "react";
import { useLocation } from "wouter";

import { ApiError } from "../api/errors";
import { GraphClient } from "../api/graph";
import { Http } from "../api/http";
import { PastHttp } from "../api/past";
import type { Configuration, OwnPermissions } from "../api/types";
import { OWN_GRAPH, routeOf, START } from "../app/addresses";
import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { useSelection } from "../app/selection";
import { useResults } from "../results/store";
import { refusalsOf, tokensFor, type Recipient } from "./audiences";
import { useMoment } from "../time/moment";
import { useCredentials } from "./credentials";
import { AccessFailure } from "./AccessFailure";
import { useHostedGraphs, OWN_NAME } from "./graphs";
import { leave } from "./leaving";
import { covers } from "./permissions";
import { SessionContext, type Session } from "./session";

interface Props {
  configuration: Configuration;
  graphId: string;
  /** What is shown where there is no such graph, instead of saying so. */
  otherwise?: ReactNode;
  children: ReactNode;
}

/** The session of one graph; what is below is shown once it is known what one may do there. */
export function SessionProvider({ configuration, graphId, otherwise, children }: Props) {
  const signedIn = useCredentials((state) => state.user);
  const asOf = useMoment((state) => state.asOf);
  const present = useMemo(
    () => new GraphClient(callAt(rootOf(configuration, graphId), graphOf(configuration))),
    [configuration, graphId],
  );
  const graph = useMemo(
    () =>
      asOf === null
        ? present
        : new GraphClient(new PastHttp(present.http, new Date(asOf).toISOString())),
    [present, asOf],
  );
  const control = useMemo(
    () =>
      configuration.control === null
        ? null
        : callAt(configuration.control, {
            name: "The control plane",
            audience: configuration.controlAudience,
          }),
    [configuration],
  );
  const hosted = useHostedGraphs(configuration.hosting ? control : null);
  const { data, error, refetch } = useQuery({
    queryKey: ["permissions", graphId, signedIn],
    queryFn: () => readPermissions(present, graphId === OWN_GRAPH || configuration.hosting),
  });
  // What was selected and found is of the graph that was looked at before.
  useEffect(
    () => () => {
      useSelection.getState().select(null);
      useResults.setState(useResults.getInitialState());
      useMoment.setState({ asOf: null, since: null });
    },
    [graphId],
  );
  const session = useMemo<Session | null>(() => {
    if (data === undefined) return null;
    const named = hosted.find((one) => one.id === graphId)?.name;
    return {
      configuration,
      graphId,
      graphName: graphId === OWN_GRAPH ? OWN_NAME : (named ?? graphId),
      graph,
      present,
      asOf,
      control,
      user: configuration.authentication ? (signedIn ?? data?.subject ?? "somebody") : null,
      subject: data?.subject ?? null,
      may: (permission) =>
        // What was cannot be changed.
        (asOf === null || permission.endsWith("/read")) &&
        (data === null || covers(data.permissions, permission)),
      signOut: leave,
    };
  }, [configuration, graphId, graph, present, asOf, control, signedIn, data, hosted]);
  if (session !== null) return <SessionContext value={session}>{children}</SessionContext>;
  if (error !== null && otherwise && isMissing(error)) return otherwise;
  if (error !== null) return <NoGraph {...{ configuration, error, graphId, onRetry: refetch }} />;
  return <Waiting label="Opening the graph" />;
}

function callAt(root: string, recipient: Recipient): Http {
  return new Http(root, tokensFor(recipient), refusalsOf(recipient));
}

function graphOf({ audience }: Configuration): Recipient {
  return { name: "This graph", audience };
}

function isMissing(error: Error): boolean {
  return error instanceof ApiError && error.status === 404;
}

interface NoGraphProps {
  configuration: Configuration;
  error: Error;
  graphId: string;
  onRetry(): void;
}

function NoGraph({ configuration, error, graphId, onRetry }: NoGraphProps) {
  const [, navigate] = useLocation();
  if (!isMissing(error)) {
    const title = "The graph cannot be opened";
    return <AccessFailure {...{ configuration, title, error, onRetry }} />;
  }
  return (
    <Failure
      title={`There is no graph ${graphId}, or you may do nothing there`}
      error={error}
      retryLabel="Open the service's own graph"
      onRetry={() => navigate(routeOf(OWN_GRAPH, START), { replace: true })}
    />
  );
}

function rootOf({ base }: Configuration, graphId: string): string {
  return graphId === OWN_GRAPH ? base : `${base}/graphs/${encodeURIComponent(graphId)}`;
}

/**
 * What the caller may do; null where a service that may have such a graph does not tell, and all is
 * offered.
 */
async function readPermissions(
  graph: GraphClient,
  mayExist: boolean,
): Promise<OwnPermissions | null> {
  try {
    return await graph.readPermissions();
  } catch (error) {
    const untold = error instanceof ApiError && error.status === 404;
    if (untold && mayExist && error.code !== "GraphNotFound") return null;
    throw error;
  }
}
