import { createContext, useContext } from "react";

import type { GraphClient } from "../api/graph";
import type { Http } from "../api/http";
import type { Configuration } from "../api/types";

/** Who looks at which graph, and what they may do there. One for each graph that is chosen. */
export interface Session {
  configuration: Configuration;
  /** `OWN_GRAPH` for the graph of the service, else the id of a hosted one. */
  graphId: string;
  /** What the graph is called, for display. */
  graphName: string;
  graph: GraphClient;
  /** The same of now, whichever moment is shown; what is made there changes the graph. */
  present: GraphClient;
  /** The moment as of which the graph is shown, in milliseconds since 1970; null is now. */
  asOf: number | null;
  /** The control plane, rooted at its `/api/v1`; null where there is none. */
  control: Http | null;
  /** Who is signed in, for display; null where nobody is asked. */
  user: string | null;
  /** The same as the service knows them, who may be called like others; null where it tells none. */
  subject: string | null;
  /** Whether the caller holds a permission such as `digitaltwins/write` at this graph. */
  may(permission: string): boolean;
  signOut(): void;
}

export const SessionContext = createContext<Session | null>(null);

/** The session; only below the provider. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("useSession is used outside of a session");
  return session;
}
