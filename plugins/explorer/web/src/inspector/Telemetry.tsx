import { useState } from "react";
import { Button } from "react-aria-components";

import type { JsonObject } from "../api/types";
import { Failure } from "../app/Failure";
import { useNotices } from "../app/notices";
import { Choice } from "../control/Choice";
import { useLive, type Series } from "../live/store";
import type { ContentInfo } from "../models/index";
import { useModels } from "../models/useModels";
import { useSession } from "../session/session";
import { listTelemetry } from "./components";
import { pointerOf } from "./document";
import { EditingContext } from "./editing";
import { Field } from "./fields/Field";
import { readSchema } from "./schema";
import { TelemetryChart } from "./TelemetryChart";
import { useForm } from "./useForm";

/** What a twin sends, as it comes in. */
export function Telemetry({ id, model }: { id: string; model: string }) {
  const { may } = useSession();
  const { index } = useModels();
  const series = useLive((state) => state.telemetry.get(id));
  const { state, why } = useLive();
  const offered = listTelemetry(model, index);
  return (
    <div className="inspector-telemetry">
      {state === "refused" ? (
        <p className="inspector-none muted">No telemetry can be shown: {why}</p>
      ) : series === undefined ? (
        <p className="inspector-none muted">
          No telemetry came since this page was opened. It is shown as it comes in.
        </p>
      ) : (
        [...series].map(([key, one]) => (
          <TelemetryChart key={key} series={one} unit={unitOf(one, offered)} />
        ))
      )}
      {may("digitaltwins/write") && offered.size > 0 && <SendTelemetry id={id} offered={offered} />}
    </div>
  );
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
