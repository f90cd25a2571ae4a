import { FolderKanban } from "lucide-react";
import {
  Cell,
  Column,
  Row,
  Tab,
  Table,
  TableBody,
  TableHeader,
  TabList,
  TabPanel,
  Tabs,
} from "react-aria-components";

import type { Project, Resource, Scope } from "../api/control";
import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { Access } from "./Access";
import { AuditLog } from "./AuditLog";
import { Billing } from "./Billing";
import { Moment } from "./Facts";
import { NewGraph } from "./NewGraph";
import { PermissionsFailure } from "./PermissionsFailure";
import { Rename } from "./Rename";
import { Status } from "./Status";
import { useMayAt } from "./data";
import type { Place } from "./place";

interface Props {
  project: Project;
  resources: Resource[];
  /** Why its resources are not known; null while they are asked for, else undefined. */
  unread: Error | null | undefined;
  onRetry(): void;
  onGo(place: Place): void;
}

/** One project: its resources with their states, access, who pays. */
export function ProjectPage({ project, resources, unread, onRetry, onGo }: Props) {
  const id = project.project_id;
  const scope: Scope = { type: "project", id };
  const may = useMayAt(scope);
  return (
    <>
      <header className="control-head">
        <FolderKanban size={20} aria-hidden />
        <h1>{project.name}</h1>
        {may("projects/write") && <Rename scope={scope} name={project.name} />}
        <code className="muted">{id}</code>
        {may("resources/write") && <NewGraph projectId={id} onGo={onGo} />}
      </header>
      <PermissionsFailure scope={scope} />
      <Tabs>
        <TabList aria-label="Project">
          <Tab id="resources">Resources</Tab>
          {may("access/read") && <Tab id="access">Access</Tab>}
          {may("audit/read") && <Tab id="changes">Changes</Tab>}
          {may("billing/read") && <Tab id="billing">Billing</Tab>}
        </TabList>
        <TabPanel id="resources" className="control-panel">
          {unread === undefined && <ResourceTable resources={resources} onGo={onGo} />}
          {unread === null && <Waiting />}
          {unread && <Failure title="Resources" error={unread} onRetry={onRetry} />}
        </TabPanel>
        <TabPanel id="access" className="control-panel">
          <Access scope={scope} organizationId={project.organization_id} />
        </TabPanel>
        <TabPanel id="billing" className="control-panel">
          <Billing projectId={id} />
        </TabPanel>
        <TabPanel id="changes" className="control-panel">
          <AuditLog scope={scope} />
        </TabPanel>
      </Tabs>
    </>
  );
}

function ResourceTable({ resources, onGo }: Pick<Props, "resources" | "onGo">) {
  return (
    <Table
      aria-label="Resources"
      className="control-table"
      onRowAction={(id) => {
        const found = resources.find((one) => one.resource_id === id);
        if (found !== undefined) {
          onGo({ type: "resource", projectId: found.project_id, id: found.resource_id });
        }
      }}
    >
      <TableHeader>
        <Column isRowHeader>Name</Column>
        <Column>Id</Column>
        <Column>Type</Column>
        <Column>Sku</Column>
        <Column>State</Column>
        <Column>Changed</Column>
      </TableHeader>
      <TableBody
        items={resources}
        renderEmptyState={() => <p className="muted control-empty">There is no resource yet.</p>}
      >
        {(one) => (
          <Row id={one.resource_id}>
            <Cell>{one.name}</Cell>
            <Cell>
              <code>{one.resource_id}</code>
            </Cell>
            <Cell>{one.type}</Cell>
            <Cell>{one.sku}</Cell>
            <Cell>
              <Status status={one.status} />
            </Cell>
            <Cell>
              <Moment at={one.updated_at} />
            </Cell>
          </Row>
        )}
      </TableBody>
    </Table>
  );
}
