import { Suspense, useMemo, useState, type ReactNode } from "react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";

import { latePart } from "../app/parts";
import type { JsonObject, QueryWarning } from "../api/types";
import { Boundary } from "../app/Boundary";
import { Waiting } from "../app/Waiting";
import { fetchMore } from "../query/run";
import { usePicture } from "../picture/store";
import { useSession } from "../session/session";
import { columnsOf, type Column } from "./columns";
import { isGraph } from "./documents";
import { findIdNames } from "./ids";
import { JsonView } from "./JsonView";
import { Messages } from "./Messages";
import "./results.css";
import { ResultBar } from "./ResultBar";
import { ResultTable } from "./ResultTable";
import { useResults, type ResultView } from "./store";
import { useNewest } from "./useNewest";

// PERF: each is loaded when it is looked at for the first time.
const PictureView = latePart(() => import("../picture/PictureView"));
const PlanView = latePart(() => import("./explain/PlanView"));

interface Props {
  /** What stands in the editor, to which a warning's suggestion applies. */
  written: string;
  onFix(warning: QueryWarning): void;
  /** What is shown as long as nothing was asked. */
  beginning: ReactNode;
}

/** What the last query gave: messages, then the rows as table, JSON or graph, and the plan. */
export function ResultsPanel({ written, onFix, beginning }: Props) {
  const { view, explained, set, rows, earlier, running } = useResults();
  const [spread, setSpread] = useState(false);
  // The inspector brings twins into the picture too.
  const pictured = usePicture((state) => state.contents.nodes.size > 0);
  useNewest();
  const columns = useMemo(() => columnsOf(rows, spread), [rows, spread]);
  const choose = (chosen: ResultView): void => {
    set({ view: chosen });
    if (chosen === "graph") set({ keepsTable: false });
    else if (chosen === "table" && (running || isGraph(rows))) set({ keepsTable: true });
  };
  const nothing = <Nothing beginning={beginning} />;
  return (
    <div className={earlier ? "results results-earlier" : "results"}>
      <Messages written={written} onFix={onFix} />
      <Tabs
        className="react-aria-Tabs results-tabs"
        selectedKey={view}
        onSelectionChange={(key) => choose(key as ResultView)}
      >
        <div className="results-bar">
          <TabList aria-label="Result as" className="react-aria-TabList results-tablist">
            <Tab id="table">Table</Tab>
            <Tab id="json">JSON</Tab>
            <Tab id="graph">Graph</Tab>
            {explained !== null && <Tab id="plan">Plan</Tab>}
          </TabList>
          <ResultBar written={written} spread={spread} onSpread={setSpread} />
        </div>
        <Shown id="table">
          <TableShown rows={rows} columns={columns} beginning={beginning} />
        </Shown>
        <Shown id="json">{rows.length > 0 ? <JsonView rows={rows} /> : nothing}</Shown>
        <Shown id="graph">
          {rows.length > 0 || pictured ? <PictureView rows={rows} /> : nothing}
        </Shown>
        {explained !== null && (
          <Shown id="plan">
            <PlanView explained={explained} />
          </Shown>
        )}
      </Tabs>
    </div>
  );
}

function Shown({ id, children }: { id: ResultView; children: ReactNode }) {
  return (
    <TabPanel id={id} className="react-aria-TabPanel results-panel">
      <Boundary name={`The result as ${id}`}>
        <Suspense fallback={<Waiting />}>{children}</Suspense>
      </Boundary>
    </TabPanel>
  );
}

interface TableProps {
  rows: JsonObject[];
  columns: Column[];
  beginning: ReactNode;
}

function TableShown({ rows, columns, beginning }: TableProps) {
  const { graph } = useSession();
  const query = useResults((state) => state.query);
  const number = useResults((state) => state.number);
  const ids = useMemo(() => findIdNames(query), [query]);
  if (rows.length === 0) return <Nothing beginning={beginning} />;
  const onEnd = (): void => {
    const { error, cancelled } = useResults.getState();
    // What failed or was ended is taken up by the button, not by scrolling.
    if (error === null && !cancelled) void fetchMore(graph);
  };
  return <ResultTable key={number} rows={rows} columns={columns} ids={ids} onEnd={onEnd} />;
}

/** Why there are no rows. */
function Nothing({ beginning }: { beginning: ReactNode }) {
  const { query, activity, error, cancelled, statistics } = useResults();
  if (activity === "running") return <Waiting label="The query runs" />;
  if (error !== null) return null;
  if (query === "" && !cancelled) return beginning;
  return (
    <p className="results-nothing muted">
      {cancelled
        ? "The query was cancelled before its first rows came."
        : statistics === null
          ? "The query gives no rows."
          : "The statement gives no rows."}
    </p>
  );
}
