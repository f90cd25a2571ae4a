import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { Button } from "react-aria-components";

import type { Endpoint, EventRoute, RouteStatus } from "../api/transfer";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { FormDialog } from "../control/FormDialog";
import { Moment } from "../inspector/Moment";
import { useSession } from "../session/session";
import { RouteForm } from "./RouteForm";
import { useTransfer } from "./useJobs";

/** The state of delivery is read so often, in milliseconds. */
const PAUSE = 5000;

interface Found {
  endpoints: Endpoint[];
  routes: { route: EventRoute; status: RouteStatus | null }[];
}

/** Event routes: where events go, which ones, and how far they are. */
export function RoutesPanel() {
  const { graphId, may } = useSession();
  const client = useTransfer();
  const { data, error, refetch } = useQuery({
    queryKey: ["eventroutes", graphId],
    queryFn: async ({ signal }): Promise<Found> => {
      const [endpoints, routes] = await Promise.all([
        client.listEndpoints(signal),
        client.listRoutes(signal),
      ]);
      const states = await Promise.all(
        // One that was deleted meanwhile has no status any more.
        routes.map((route) => client.readRouteStatus(route.id, signal).catch(() => null)),
      );
      return {
        endpoints,
        routes: routes.map((route, at) => ({ route, status: states[at] ?? null })),
      };
    },
    refetchInterval: PAUSE,
    staleTime: 0,
  });
  if (error !== null && data === undefined) {
    return (
      <Failure title="The routes cannot be read" error={error} onRetry={() => void refetch()} />
    );
  }
  if (data === undefined) return <Waiting label="Reading the event routes" />;
  const { endpoints, routes } = data;
  return (
    <>
      <p>
        A route sends the events that pass its filter to an endpoint: each change of a twin, a
        relationship or a model, and telemetry.
      </p>
      {endpoints.length === 0 ? (
        <p className="muted">
          The operator has configured no endpoint that this graph may use. An endpoint is a setting,
          such as <code>Events__Endpoints__alarms__Type=webhook</code>.
        </p>
      ) : (
        may("eventroutes/write") && (
          <div>
            <RouteForm
              endpoints={endpoints}
              trigger={
                <Button className="button button-primary">
                  <Plus size={15} aria-hidden /> New event route
                </Button>
              }
            />
          </div>
        )
      )}
      {routes.length === 0 && <p className="muted">There is no event route.</p>}
      <ul className="data-jobs" aria-label="Event routes">
        {routes.map(({ route, status }) => (
          <li key={route.id}>
            <RouteCard route={route} status={status} endpoints={endpoints} />
          </li>
        ))}
      </ul>
    </>
  );
}

interface CardProps {
  route: EventRoute;
  status: RouteStatus | null;
  endpoints: readonly Endpoint[];
}

function RouteCard({ route, status, endpoints }: CardProps) {
  const { graphId, may } = useSession();
  const client = useTransfer();
  const queries = useQueryClient();
  const again = (): Promise<void> =>
    queries.invalidateQueries({ queryKey: ["eventroutes", graphId] });
  const act = (run: () => Promise<unknown>): void => {
    run()
      .catch(useNotices.getState().sayError)
      .finally(() => void again());
  };
  return (
    <article className="data-job" aria-label={`Event route ${route.id}`}>
      <header>
        <strong>{showText(route.id)}</strong>
        <span className="muted">to {route.endpointName}</span>
        <span className="data-actions">
          {status?.halted === true && may("eventroutes/write") && (
            <Button
              className="button button-small"
              onPress={() => act(() => client.putRoute(route, false))}
            >
              Let it go on
            </Button>
          )}
          {may("eventroutes/write") && (
            <RouteForm
              route={route}
              endpoints={endpoints}
              trigger={
                <Button className="button button-small" aria-label={`Change ${route.id}`}>
                  Change
                </Button>
              }
            />
          )}
          {may("eventroutes/delete") && (
            <FormDialog
              trigger={
                <Button
                  className="button button-small button-quiet"
                  aria-label={`Delete the event route ${route.id}`}
                >
                  Delete
                </Button>
              }
              title={`Delete the event route ${route.id}?`}
              submit="Delete it"
              danger
              isReady
              onSubmit={async () => {
                await client.deleteRoute(route.id);
                await again();
              }}
            >
              <p>
                Nothing is sent to {route.endpointName} by it any more. Its dead letters go with it.
              </p>
            </FormDialog>
          )}
        </span>
      </header>
      <pre className="data-marked">{showText(route.filter)}</pre>
      {status !== null && <Delivery status={status} />}
      {status !== null && status.deadLettersKept > 0 && (
        <DeadLetters route={route} count={status.deadLettersKept} act={act} />
      )}
    </article>
  );
}

function Delivery({ status }: { status: RouteStatus }) {
  const { behind, delivered, lost, error, halted } = status;
  return (
    <>
      <p role="status">
        {delivered.toLocaleString()} sent,{" "}
        {behind === 0 ? "nothing waits" : `${behind.toLocaleString()} events are still before it`}
        {lost > 0 && `, ${lost.toLocaleString()} lost`}.
        {halted && " It is halted: the receiver wants no more events."}
      </p>
      {error !== "" && <p className="data-error">{showText(error)}</p>}
    </>
  );
}

interface LettersProps {
  route: EventRoute;
  count: number;
  act(run: () => Promise<unknown>): void;
}

function DeadLetters({ route, count, act }: LettersProps) {
  const { graphId, may } = useSession();
  const client = useTransfer();
  const reads = ["digitaltwins/read", "digitaltwins/relationships/read", "models/read"];
  const { data } = useQuery({
    queryKey: ["eventroutes", graphId, route.id, "letters", count],
    queryFn: ({ signal }) => client.listDeadLetters(route.id, signal),
    enabled: reads.every(may),
  });
  return (
    <section aria-label={`Dead letters of ${route.id}`}>
      <div className="data-row">
        <strong>
          {count.toLocaleString()} dead {count === 1 ? "letter" : "letters"}
        </strong>
        {may("eventroutes/write") && (
          <Button
            className="button button-small"
            onPress={() => act(() => client.replayDeadLetters(route.id))}
          >
            Send again
          </Button>
        )}
        {may("eventroutes/delete") && (
          <Button
            className="button button-small button-quiet"
            aria-label={`Delete the dead letters of ${route.id}`}
            onPress={() => act(() => client.deleteDeadLetters(route.id))}
          >
            Delete them
          </Button>
        )}
      </div>
      <ul>
        {data?.slice(0, 5).map((one) => (
          <li key={one.position}>
            <code>{String(one.event["type"])}</code> {showText(String(one.event["subject"] ?? ""))}:{" "}
            {showText(one.error)}, after {one.attempts} attempts,{" "}
            <Moment title="Given up" value={one.time} />
          </li>
        ))}
      </ul>
    </section>
  );
}
