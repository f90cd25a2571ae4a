import { LayoutDashboard, Plus, Trash2 } from "lucide-react";
import { useEffect } from "react";
import { Button, Link } from "react-aria-components";
import { useLocation } from "wouter";

import { MAY, type WorkspaceHead } from "../api/workspaces";
import { routeOf } from "../app/addresses";
import { Failure } from "../app/Failure";
import { useParameters } from "../app/search";
import { showText } from "../app/showText";
import { Waiting } from "../app/Waiting";
import { Moment } from "../inspector/Moment";
import { useCounts } from "../models/counts";
import { useModels } from "../models/useModels";
import { useSession } from "../session/session";
import { KeptBoard, NewBoard } from "./Board";
import "./dashboards.css";
import { Confirm } from "./Confirm";
import { draftKey, guardDrafts, useDrafts } from "./drafts";
import { useDashboards, useReadAnew, useWorkspaces } from "./kept";
import { suggestTiles } from "./suggest";

/** The dashboards of the graph, or the one that the address names. */
export default function DashboardsView() {
  const { graphId, may } = useSession();
  const [parameters] = useParameters();
  const isBegun = useDrafts(({ drafts }) => drafts.has(draftKey(graphId, null)));
  useEffect(() => guardDrafts(), []);
  const id = parameters.get("id") ?? "";
  if (!may(MAY.read)) return <p className="boards muted">You may not read what is kept here.</p>;
  if (!may("query/read")) {
    return <p className="boards muted">Tiles ask queries, and you may not query this graph.</p>;
  }
  if (id !== "") return <KeptBoard key={`${graphId} ${id}`} id={id} />;
  if (parameters.get("new") !== null && isBegun) return <NewBoard />;
  return <List />;
}

function List() {
  const { graphId, may } = useSession();
  const { data, error, refetch } = useDashboards();
  const drafts = useDrafts((state) => state.drafts);
  if (error !== null) {
    return (
      <Failure title="The dashboards cannot be read" error={error} onRetry={() => void refetch()} />
    );
  }
  if (data === undefined) return <Waiting label="Reading the dashboards" />;
  const begun = drafts.get(draftKey(graphId, null));
  return (
    <section className="boards" aria-label="Dashboards">
      <header className="boards-head">
        <h1>Dashboards</h1>
        {data.length > 0 && may(MAY.write) && <Begin />}
      </header>
      {data.length === 0 && begun === undefined && <NoneYet />}
      <ul aria-label="Dashboards">
        {begun !== undefined && (
          <li>
            <span className="boards-name">
              <Link href={routeOf(graphId, "dashboards", "new=1")}>
                {showText(begun.name || "New dashboard")}
              </Link>
              <br />
              <span className="muted">Not saved yet</span>
            </span>
          </li>
        )}
        {data.map((one) => (
          <li key={one.id}>
            <span className="boards-name">
              <Link
                href={routeOf(
                  graphId,
                  "dashboards",
                  new URLSearchParams({ id: one.id }).toString(),
                )}
              >
                {showText(one.name)}
              </Link>
              <br />
              <span className="muted">
                {drafts.get(draftKey(graphId, one.id))?.isChanged ? (
                  "Changes are not saved"
                ) : (
                  <Saved head={one} />
                )}
              </span>
            </span>
            {may(MAY.delete) && <Delete head={one} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Saved({ head }: { head: WorkspaceHead }) {
  return (
    <>
      Saved <Moment title="Saved" value={head.lastUpdateTime} />
      {head.lastUpdateBy !== null && ` by ${showText(head.lastUpdateBy)}`}
    </>
  );
}

function NoneYet() {
  const { may } = useSession();
  return (
    <div className="boards-empty">
      <p>
        There is no dashboard yet. A dashboard is a page of tiles: numbers, bars, tables and texts
        over queries, which follow the graph as it changes. It is kept in the graph for everyone.
      </p>
      {may(MAY.write) ? <Begin /> : <p className="muted">You may not keep one here.</p>}
    </div>
  );
}

/** The ways to a new dashboard. */
function Begin() {
  const { graphId, graphName } = useSession();
  const [, navigate] = useLocation();
  const { index, isLoading } = useModels();
  const counts = useCounts(index);
  const hasTwins = counts !== null && counts.total > 0 && !isLoading;
  const begin = (fromGraph: boolean): void => {
    const tiles = fromGraph && counts !== null ? suggestTiles(index, counts) : [];
    const name = fromGraph ? `${graphName} at a glance` : "";
    useDrafts.getState().begin(draftKey(graphId, null), { name, tiles, etag: null }, fromGraph);
    navigate(routeOf(graphId, "dashboards", "new=1"));
  };
  return (
    <div>
      {hasTwins && (
        <Button className="button button-primary" onPress={() => begin(true)}>
          <LayoutDashboard size={15} aria-hidden /> Make one from this graph
        </Button>
      )}{" "}
      <Button className="button" onPress={() => begin(false)}>
        <Plus size={15} aria-hidden /> New dashboard
      </Button>
    </div>
  );
}

function Delete({ head }: { head: WorkspaceHead }) {
  const { graphId } = useSession();
  const workspaces = useWorkspaces();
  const readAnew = useReadAnew();
  return (
    <Confirm
      trigger={
        <Button className="button button-quiet button-icon" aria-label={`Delete ${head.name}`}>
          <Trash2 size={15} aria-hidden />
        </Button>
      }
      title={`Delete «${head.name}»?`}
      text="It is gone for everyone who uses this graph."
      submit="Delete"
      onSubmit={async () => {
        await workspaces.delete(head.id, head.etag);
        useDrafts.getState().end(draftKey(graphId, head.id));
        await readAnew();
      }}
    />
  );
}
