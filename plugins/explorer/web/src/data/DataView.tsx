import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import type { ReactNode } from "react";

import { useParameters } from "../app/search";
import "../control/control.css";
import { useSession } from "../session/session";
import "../results/results.css";
import "./data.css";
import { ExportPanel } from "./ExportPanel";
import { HistoryPanel } from "./HistoryPanel";
import { ImportPanel } from "./ImportPanel";
import { JobList } from "./JobList";
import { RoutesPanel } from "./RoutesPanel";

interface Part {
  id: string;
  name: string;
  /** One of these permissions is needed to see it. */
  needs: readonly string[];
  panel: ReactNode;
}

const PARTS: readonly Part[] = [
  { id: "import", name: "Import", needs: ["jobs/imports/write"], panel: <ImportPanel /> },
  { id: "export", name: "Export", needs: ["query/read"], panel: <ExportPanel /> },
  {
    id: "jobs",
    name: "Jobs",
    needs: ["jobs/imports/read", "jobs/deletions/read"],
    panel: <JobList />,
  },
  { id: "routes", name: "Event routes", needs: ["eventroutes/read"], panel: <RoutesPanel /> },
  { id: "history", name: "History", needs: ["digitaltwins/read"], panel: <HistoryPanel /> },
];

/** Graphs in and out, the jobs that move them, and where changes go and stay. */
export default function DataView() {
  const { may } = useSession();
  const [parameters, setParameters] = useParameters();
  const parts = PARTS.filter((one) => one.needs.some(may));
  const asked = parameters.get("part");
  const current = parts.find((one) => one.id === asked) ?? parts[0];
  if (current === undefined) {
    return <p className="control-none">You may neither import, export nor see any of this.</p>;
  }
  return (
    <section className="data" aria-label="Data">
      <h1>Data</h1>
      <Tabs
        selectedKey={current.id}
        onSelectionChange={(id) => setParameters({ part: String(id) }, { replace: true })}
      >
        <TabList aria-label="Data">
          {parts.map((one) => (
            <Tab key={one.id} id={one.id}>
              {one.name}
            </Tab>
          ))}
        </TabList>
        {parts.map((one) => (
          <TabPanel key={one.id} id={one.id} className="data-panel">
            {one.panel}
          </TabPanel>
        ))}
      </Tabs>
    </section>
  );
}
