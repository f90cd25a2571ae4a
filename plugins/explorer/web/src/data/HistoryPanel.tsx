import { useQuery } from "@tanstack/react-query";

import { renderJson } from "../api/json";
import type { Json } from "../api/types";
import type { KeptPast } from "../api/transfer";
import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { Moment } from "../inspector/Moment";
import { useSession } from "../session/session";
import { tellBytes } from "./numbers";
import { useTransfer } from "./useJobs";

/** What is kept of the past, since when, how much room it takes, and the settings that say so. */
export function HistoryPanel() {
  const { graphId } = useSession();
  const client = useTransfer();
  const { data, error, refetch } = useQuery({
    queryKey: ["history", graphId],
    queryFn: ({ signal }) => client.readKept(signal),
    staleTime: 0,
  });
  if (error !== null) {
    return (
      <Failure title="The history cannot be read" error={error} onRetry={() => void refetch()} />
    );
  }
  if (data === undefined) return <Waiting label="Reading what is kept" />;
  return (
    <>
      <Changes changes={data.changes} />
      <Points points={data.points} />
      <h2>Settings</h2>
      <p className="muted">
        The operator sets these where the service is started, as environment variables or in its
        configuration file. They cannot be changed here.
      </p>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it is scrolled by keys */}
      <div className="data-scroll" tabIndex={0} role="region" aria-label="Settings">
        <table className="data-table">
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Value</th>
              <th scope="col">What it says</th>
            </tr>
          </thead>
          <tbody>
            {data.settings.map((one) => (
              <tr key={one.key}>
                <td>
                  <code>{one.key}</code>
                </td>
                <td>
                  <code>{tellValue(one.key, one.value)}</code>
                </td>
                <td>{one.description}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Changes({ changes }: { changes: KeptPast["changes"] }) {
  const { kept, reason, since, bytes, firstPosition, lastPosition } = changes;
  return (
    <section aria-label="Changes">
      <h2>Changes</h2>
      {!kept && <p>{reason}</p>}
      {kept && since === null && <p>Changes are kept; there is none yet.</p>}
      {kept && since !== null && (
        <p>
          Earlier states can be read back to <Moment title="Since" value={since} />, from position{" "}
          {firstPosition.toLocaleString()} to {lastPosition.toLocaleString()}. Changes and events
          take some {tellBytes(bytes)}; the latest are measured a little later.
        </p>
      )}
    </section>
  );
}

function Points({ points }: { points: KeptPast["points"] }) {
  return (
    <section aria-label="Values over time">
      <h2>Values over time</h2>
      {points === null || !points.kept ? (
        <p>
          Telemetry is not kept here (<code>History__Telemetry</code>). The values of properties are
          in the changes.
        </p>
      ) : (
        <p>
          Telemetry takes {tellBytes(points.bytes)}
          {points.since !== null && (
            <>
              , and is kept back to <Moment title="Since" value={points.since} />
            </>
          )}
          .
        </p>
      )}
    </section>
  );
}

/** A value as an operator would write it; of bytes what that is, too. */
export function tellValue(key: string, value: Json): string {
  const text = typeof value === "string" ? value || "(empty)" : renderJson(value);
  const number = Number(text);
  return key.endsWith("Bytes") && number >= 1024 ? `${text} (${tellBytes(number)})` : text;
}
