import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button, Group } from "react-aria-components";

import { Choice } from "../control/Choice";
import { TwinSearch } from "../inspector/TwinSearch";
import { useModels } from "../models/useModels";
import { useSession } from "../session/session";
import { listPaths } from "./contents";
import type { SeriesName } from "./request";
import "./time.css";

/** A value of a twin, by a search for the twin and a choice of what it has over time. */
export function SeriesPicker({ onAdd }: { onAdd(series: SeriesName): void }) {
  const { graph, graphId, may } = useSession();
  const { index } = useModels();
  const [id, setId] = useState("");
  const [count, setCount] = useState(0);
  const [chosen, setChosen] = useState("");
  const { data: twin } = useQuery({
    queryKey: ["twin", graphId, id],
    queryFn: ({ signal }) => graph.readTwin(id, signal),
    enabled: id !== "" && may("digitaltwins/read"),
  });
  const paths = twin === undefined ? [] : listPaths(twin, index);
  const path = paths.includes(chosen) ? chosen : (paths[0] ?? "");
  return (
    <Group aria-label="Add a series" className="time-add">
      <TwinSearch key={count} label="Twin" model={undefined} value="" isBare onChoose={setId} />
      {paths.length > 0 && (
        <Choice
          label="Value"
          options={paths.map((one) => ({ id: one, name: one.replaceAll("/", ".") }))}
          value={path}
          onChange={setChosen}
        />
      )}
      {twin !== undefined && paths.length === 0 && (
        <p className="muted">This twin has no numbers.</p>
      )}
      <Button
        className="button button-small"
        isDisabled={path === ""}
        onPress={() => {
          onAdd({ twin: id, path });
          setId("");
          setCount(count + 1);
        }}
      >
        Add to the chart
      </Button>
    </Group>
  );
}
