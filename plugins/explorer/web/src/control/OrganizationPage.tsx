import { Building2 } from "lucide-react";
import { Link, Tab, TabList, TabPanel, Tabs } from "react-aria-components";

import type { Organization, Project, Scope } from "../api/control";
import { Access } from "./Access";
import { AuditLog } from "./AuditLog";
import { Facts, Moment } from "./Facts";
import { NewProject } from "./NewProject";
import { PermissionsFailure } from "./PermissionsFailure";
import { Rename } from "./Rename";
import { useMayAt } from "./data";
import type { Place } from "./place";

interface Props {
  organization: Organization;
  projects: Project[];
  onGo(place: Place): void;
}

/** One organization: its projects, and who may what. */
export function OrganizationPage({ organization, projects, onGo }: Props) {
  const id = organization.organization_id;
  const scope: Scope = { type: "organization", id };
  const may = useMayAt(scope);
  const own = projects.filter((one) => one.organization_id === id);
  return (
    <>
      <header className="control-head">
        <Building2 size={20} aria-hidden />
        <h1>{organization.name}</h1>
        {may("organizations/write") && <Rename scope={scope} name={organization.name} />}
        {may("projects/write") && <NewProject organizationId={id} onGo={onGo} />}
      </header>
      <PermissionsFailure scope={scope} />
      <Tabs>
        <TabList aria-label="Organization">
          <Tab id="overview">Overview</Tab>
          {may("access/read") && <Tab id="access">Access</Tab>}
          {may("audit/read") && <Tab id="changes">Changes</Tab>}
        </TabList>
        <TabPanel id="overview" className="control-panel">
          <Facts
            facts={[
              ["Id", <code key="id">{id}</code>],
              ["Created", <Moment key="at" at={organization.created_at} />],
            ]}
          />
          <h2>Projects</h2>
          {own.length === 0 && <p className="muted">It has no project yet.</p>}
          <ul className="control-list">
            {own.map((one) => (
              <li key={one.project_id}>
                <Link onPress={() => onGo({ type: "project", id: one.project_id })}>
                  {one.name}
                </Link>
                <code className="muted">{one.project_id}</code>
              </li>
            ))}
          </ul>
        </TabPanel>
        <TabPanel id="access" className="control-panel">
          <Access scope={scope} organizationId={id} />
        </TabPanel>
        <TabPanel id="changes" className="control-panel">
          <AuditLog scope={scope} />
        </TabPanel>
      </Tabs>
    </>
  );
}
