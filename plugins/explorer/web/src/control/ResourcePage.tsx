import { Database, ExternalLink } from "lucide-react";
import { Link, Tab, TabList, TabPanel, Tabs } from "react-aria-components";

import type { Project, Resource, Scope } from "../api/control";
import { renderJson } from "../api/json";
import { routeOf } from "../app/addresses";
import { GRAPH_TYPE, isUp } from "../session/graphs";
import { useSession } from "../session/session";
import { Access } from "./Access";
import { AuditLog } from "./AuditLog";
import { DeleteResource } from "./DeleteResource";
import { Facts, Moment } from "./Facts";
import { Operations } from "./Operations";
import { PermissionsFailure } from "./PermissionsFailure";
import { Rename } from "./Rename";
import { Status } from "./Status";
import { Usage } from "./Usage";
import { isChangeable, isDeletable, useMayAt } from "./data";
import type { Place } from "./place";

interface Props {
  resource: Resource;
  project: Project;
  onGo(place: Place): void;
}

/** One resource: its state and settings, what was asked of it, access, usage. */
export function ResourcePage({ resource, project, onGo }: Props) {
  const { configuration } = useSession();
  const { project_id: projectId, resource_id: id } = resource;
  const scope: Scope = { type: "resource", id, projectId };
  const may = useMayAt(scope);
  const opens = configuration.hosting && resource.type === GRAPH_TYPE && isUp(resource);
  return (
    <>
      <header className="control-head">
        <Database size={20} aria-hidden />
        <h1>{resource.name}</h1>
        {may("resources/write") && isChangeable(resource) && (
          <Rename scope={scope} name={resource.name} />
        )}
        <Status status={resource.status} />
        <span className="control-actions">
          {opens && (
            <Link className="button button-primary" href={routeOf(id, "query")}>
              <ExternalLink size={15} aria-hidden />
              Open the graph
            </Link>
          )}
          {may("resources/delete") && isDeletable(resource) && (
            <DeleteResource resource={resource} onGo={onGo} />
          )}
        </span>
      </header>
      <PermissionsFailure scope={scope} />
      {resource.status === "error" && (
        <p className="control-error" role="alert">
          {resource.error_message ?? "It has failed; its operations say more."}
        </p>
      )}
      <Tabs>
        <TabList aria-label="Resource">
          <Tab id="overview">Overview</Tab>
          <Tab id="operations">Operations</Tab>
          {may("access/read") && <Tab id="access">Access</Tab>}
          {may("audit/read") && <Tab id="changes">Changes</Tab>}
          {may("billing/read") && <Tab id="usage">Usage</Tab>}
        </TabList>
        <TabPanel id="overview" className="control-panel">
          <Overview resource={resource} />
        </TabPanel>
        <TabPanel id="operations" className="control-panel">
          <Operations resource={resource} />
        </TabPanel>
        <TabPanel id="access" className="control-panel">
          <Access scope={scope} organizationId={project.organization_id} />
        </TabPanel>
        <TabPanel id="usage" className="control-panel">
          <Usage projectId={projectId} id={id} />
        </TabPanel>
        <TabPanel id="changes" className="control-panel">
          <AuditLog scope={scope} />
        </TabPanel>
      </Tabs>
    </>
  );
}

function Overview({ resource }: { resource: Resource }) {
  const settings = resource.settings_json;
  return (
    <>
      <Facts
        facts={[
          ["Id", <code key="id">{resource.resource_id}</code>],
          ["Type", resource.type],
          ["Sku", resource.sku],
          ["Address", resource.access_url ? <code key="url">{resource.access_url}</code> : "–"],
          ["Created", <Moment key="created" at={resource.created_at} />],
          ["Changed", <Moment key="changed" at={resource.updated_at} />],
        ]}
      />
      <h2>Settings</h2>
      <pre className="control-settings">
        {typeof settings === "string" ? settings : renderJson(settings, 2)}
      </pre>
    </>
  );
}
