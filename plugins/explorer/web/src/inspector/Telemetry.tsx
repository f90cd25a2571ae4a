import { useState } from "react";
import { Button } from "react-aria-components";

import type { JsonObject } from "../api/types";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { Waiting } from "../app/Waiting";
import { Choice } from "../control/Choice";
import { useLive, type Series } from "../live/store";
import type { ContentInfo } from "../models/index";
import { useModels } from "../models/useModels";
import { useSession } from "../session/session";
import { useShowChart } from "../time/useChartAddress";
import type { Values } from "../time/values";
import { listTelemetry } from "./components";
import { pointerOf } from "./document";
import { EditingContext } from "./editing";
import { Field } from "./fields/Field";
import { readSchema } from "./schema";
import { joinSeries, pathOf, useStored } from "./stored";
import { TelemetryChart } from "./TelemetryChart";
import { useForm } from "./useForm";

/** What a twin has sent: what is kept of the last day, and what comes in. */
export function Telemetry({ id, model }: { id: string; model: string }) {
  const { may, asOf } = useSession();
  const { index } = useModels();
  const live = useLive((state) => state.telemetry.get(id));
  const { state, why } = useLive();
  const show = useShowChart();
  const offered = listTelemetry(model, index);
  const { kept, why: notKept, isLoading } = useStored(id, offered);
  const coming = asOf === null ? live : undefined;
  const series = listSeries(kept, coming);
  return (
    <div className="inspector-telemetry">
      {state === "refused" && (
        <p className="inspector-none muted">What comes in cannot be shown: {why}</p>
      )}
      {isLoading && series.length === 0 && <Waiting label="Reading what is kept" />}
      {!isLoading && series.length === 0 && (
        <p className="inspector-none muted">
          {asOf === null
            ? "No telemetry came since this page was opened. It is shown as it comes in."
            : "Nothing is kept of the day before this moment."}
        </p>
      )}
      {series.map((one) => (
        <TelemetryChart
          key={`${one.component ?? ""}/${one.name}`}
          series={one}
          unit={unitOf(one, offered)}
          {...(notKept === null ? { onChart: () => show([{ twin: id, path: pathOf(one) }]) } : {})}
        />
      ))}
      {notKept !== null && <p className="inspector-none muted">{notKept}</p>}
      {may("digitaltwins/write") && offered.size > 0 && <SendTelemetry id={id} offered={offered} />}
    </div>
  );
}

/** Those that are kept first, in the order of the model, then those that the model does not name. */
function listSeries(
  kept: ReadonlyMap<string, Values>,
  live: ReadonlyMap<string, Series> | undefined,
): Series[] {
  const keys = new Set([...kept.keys(), ...(live?.keys() ?? [])]);
  return [...keys].map((key) => {
    const at = key.indexOf("/");
    const component = at === 0 ? null : key.slice(0, at);
    return joinSeries({ component, name: key.slice(at + 1) }, kept.get(key), live?.get(key));
  });
}

function unitOf(series: Series, offered: Map<string, ContentInfo[]>): string {
  const all = offered.get(series.component ?? "") ?? [];
  return all.find((one) => one.name === series.name.split(".")[0])?.unit ?? "";
}

interface SendProps {
  id: string;
  offered: Map<string, ContentInfo[]>;
}

function SendTelemetry({ id, offered }: SendProps) {
  const { graph } = useSession();
  const { say } = useNotices();
  const [error, setError] = useState<unknown>(null);
  const [component, setComponent] = useState([...offered.keys()][0] ?? "");
  const form = useForm();
  const send = (values: JsonObject): void => {
    setError(null);
    graph
      .sendTelemetry(id, component === "" ? null : component, values)
      .then(() => say("The telemetry is sent."), setError);
  };
  return (
    <section className="inspector-send" aria-label="Send telemetry">
      <h3>Send telemetry</h3>
      {offered.size > 1 && (
        <Choice
          label="Of"
          options={[...offered.keys()].map((one) => ({ id: one, name: one || "the twin itself" }))}
          value={component}
          onChange={(chosen) => {
            setComponent(chosen);
            form.begin({});
          }}
        />
      )}
      <EditingContext value={form.editing}>
        {(offered.get(component) ?? []).map((one) => (
          <div key={`${component}/${one.name}`} className="inspector-row">
            <div className="inspector-name">
              {one.name}
              {one.unit !== undefined && <span className="inspector-unit">{one.unit}</span>}
            </div>
            <Field
              schema={readSchema(one.schema)}
              label={one.name}
              pointer={pointerOf(one.name)}
              value={form.value[one.name]}
              optional
              onChange={(value) => form.editing.set(pointerOf(one.name), value)}
            />
          </div>
        ))}
      </EditingContext>
      {error !== null && <Failure title="It was not sent" error={error} />}
      <Button
        className="button button-small"
        isDisabled={!form.isReady || Object.keys(form.value).length === 0}
        onPress={() => send(form.value)}
      >
        Send
      </Button>
    </section>
  );
}
