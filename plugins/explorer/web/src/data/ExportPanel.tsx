import { Download } from "lucide-react";
import { useState } from "react";
import { Button, Label, Link, ProgressBar, RadioGroup } from "react-aria-components";

import { routeOf } from "../app/addresses";
import { Failure } from "../app/Failure";
import { useCounts } from "../models/counts";
import { useModels } from "../models/useModels";
import { Box, Choice } from "../results/ExportDialog";
import { useSession } from "../session/session";
import { exportGraph, stopExport, useExporting, type ExportChoice } from "./exporting";
import { MOST_GRAPH_BYTES } from "./graphFile";
import { tellBytes, tellCounts } from "./numbers";
import { useTransfer } from "./useJobs";

/** Saves the whole graph as a file that an import takes. */
export function ExportPanel() {
  const { graphId, graphName, may } = useSession();
  const client = useTransfer();
  const { index } = useModels();
  const counts = useCounts(index);
  const { phase, bytes, counted, name, error } = useExporting();
  const [choice, setChoice] = useState<ExportChoice>({
    format: "ndjson",
    history: false,
    plain: false,
    gzip: true,
  });
  const change = (part: Partial<ExportChoice>): void => setChoice({ ...choice, ...part });
  const readsAll = ["digitaltwins/read", "digitaltwins/relationships/read", "models/read"];
  const isRunning = phase === "running";
  const lines = (section: string): number => counted[section] ?? 0;
  const told = tellCounts([
    [lines("Models"), "models"],
    [lines("Twins"), "twins"],
    [lines("Relationships"), "relationships"],
    [lines("Changes"), "changes"],
  ]);
  const share = counts === null || counts.total === 0 ? null : lines("Twins") / counts.total;
  return (
    <>
      <p>
        All models, twins and relationships as they are at one moment. The same graph gives the same
        file.
      </p>
      <RadioGroup
        value={choice.format}
        onChange={(format) => change({ format: format === "json" ? "json" : "ndjson" })}
      >
        <Label>Format</Label>
        <Choice value="ndjson">NDJSON, of any size, for imports here and the vendor’s jobs</Choice>
        <Choice value="json">
          JSON of the vendor’s explorer, up to {tellBytes(MOST_GRAPH_BYTES)}, without ETags, times
          and history
        </Choice>
      </RadioGroup>
      {choice.format === "ndjson" && (
        <>
          {readsAll.every(may) && (
            <Box
              isSelected={choice.history}
              onChange={(history) => change({ history, plain: choice.plain && !history })}
            >
              With its history: every change that is kept, and values over time
            </Box>
          )}
          <Box
            isSelected={choice.plain}
            onChange={(plain) => change({ plain, history: choice.history && !plain })}
          >
            For other services: without ETags and times
          </Box>
          <Box isSelected={choice.gzip} onChange={(gzip) => change({ gzip })}>
            Compressed with gzip
          </Box>
        </>
      )}
      <div className="data-row">
        <Button
          className="button button-primary"
          isDisabled={isRunning}
          onPress={() => void exportGraph(client, graphName, choice)}
        >
          <Download size={15} aria-hidden /> Export the graph
        </Button>
        {isRunning && (
          <Button className="button" onPress={stopExport}>
            Stop
          </Button>
        )}
      </div>
      {isRunning && (
        <ProgressBar
          className="data-progress"
          isIndeterminate={share === null}
          value={Math.min(share ?? 0, 1) * 100}
        >
          {({ percentage }) => (
            <>
              <Label>
                {told}, {tellBytes(bytes)} so far
              </Label>
              <span className="data-bar">
                <span style={{ width: `${percentage ?? 30}%` }} />
              </span>
            </>
          )}
        </ProgressBar>
      )}
      <p role="status">
        {phase === "done" &&
          `${told} are in ${name}: ${tellBytes(bytes)}${name.endsWith(".gz") ? " before compression" : ""}.`}
      </p>
      {phase === "failed" && <Failure title="The graph was not exported" error={error} />}
      <h2>A part of it</h2>
      <p className="muted">
        <Link href={routeOf(graphId, "query")}>Query</Link> exports the rows of a result as CSV or
        JSON, and saves what the picture shows as an image or as a graph.{" "}
        <Link href={routeOf(graphId, "models")}>Models</Link> downloads all models as one file.
      </p>
    </>
  );
}
