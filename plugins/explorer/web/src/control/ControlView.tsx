import { useEffect } from "react";
import { Link } from "react-aria-components";

import { Failure } from "../app/Failure";
import { Waiting } from "../app/Waiting";
import { routeOf } from "../app/addresses";
import { useParameters } from "../app/search";
import { AccessFailure } from "../session/AccessFailure";
import { useOwnResources } from "../session/graphs";
import { useSession } from "../session/session";
import { OrganizationPage } from "./OrganizationPage";
import { PlaceTree } from "./PlaceTree";
import { PlatformPage } from "./PlatformPage";
import { ProjectPage } from "./ProjectPage";
import { ResourcePage } from "./ResourcePage";
import "./control.css";
import { useSeesPlatform, useTenants, type Tenants } from "./data";
import { parsePlace, renderPlace, type Place } from "./place";

/** Organizations, their projects and resources: states, access, usage. */
export default function ControlView() {
  const { control } = useSession();
  if (control === null) {
    return (
      <p className="control-none">
        This service names no control plane. Set <code>Control__Enabled</code> to serve one here.
      </p>
    );
  }
  return <Tenancy />;
}

function Tenancy() {
  const { configuration } = useSession();
  const [parameters, setParameters] = useParameters();
  const place = parsePlace(parameters.get("at"));
  const { tenants, error, refetch } = useTenants(projectOf(place));
  const platform = useSeesPlatform();
  const go = (place: Place, replace = false): void =>
    setParameters({ at: renderPlace(place) }, { replace });
  if (tenants === undefined) {
    if (error === null) return <Waiting label="Asking the control plane" />;
    const title = "The control plane cannot be shown";
    return <AccessFailure {...{ configuration, title, error, onRetry: refetch }} />;
  }
  if (place === null) {
    const start = findStart(tenants, platform === true);
    // Whoever has nothing else to see may still see the platform.
    if (start === null && platform === null) return <Waiting />;
    if (start !== null) return <Start onStart={() => go(start, true)} />;
  }
  return (
    <div className="control">
      <nav className="control-places" aria-label="Organizations and projects">
        <PlaceTree tenants={tenants} platform={platform === true} place={place} onChoose={go} />
      </nav>
      <div className="control-page">
        {error !== null && (
          <Failure title="This is not up to date" error={error} onRetry={refetch} />
        )}
        {place === null ? (
          <NoRole />
        ) : (
          <Page
            key={renderPlace(place)}
            tenants={tenants}
            place={place}
            onGo={go}
            onRetry={refetch}
          />
        )}
      </div>
    </div>
  );
}

/** The project that a place is in. */
function projectOf(place: Place | null): string | null {
  if (place?.type === "resource") return place.projectId;
  return place?.type === "project" ? place.id : null;
}

/** For whoever holds no role at anything that has pages here. */
function NoRole() {
  const { configuration, control } = useSession();
  const { data: own = [], error, refetch } = useOwnResources(control);
  return (
    <div className="control-none">
      <p>You have no role at any organization or project here. Ask somebody who owns one.</p>
      {error !== null && (
        <Failure title="Your roles" error={error} onRetry={() => void refetch()} />
      )}
      {configuration.hosting && own.length > 0 && (
        <>
          <p>You hold a role at:</p>
          <ul className="control-list">
            {own.map((id) => (
              <li key={id}>
                <Link href={routeOf(id, "query")}>{id}</Link>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/** Goes where there is something to see first, so that the address says where one is. */
function Start({ onStart }: { onStart(): void }) {
  useEffect(onStart);
  return null;
}

function findStart({ projects, organizations }: Tenants, platform: boolean): Place | null {
  const [project] = projects;
  if (project !== undefined) return { type: "project", id: project.project_id };
  const [organization] = organizations;
  if (organization !== undefined) return { type: "organization", id: organization.organization_id };
  return platform ? { type: "platform" } : null;
}

interface PageProps {
  tenants: Tenants;
  place: Place;
  onGo(place: Place): void;
  onRetry(): void;
}

function Page({ tenants, place, onGo, onRetry }: PageProps) {
  const projectId = projectOf(place) ?? "";
  const project = tenants.projects.find((one) => one.project_id === projectId);
  const unread = tenants.unread.get(projectId);
  const missing = <p className="control-none">There is no such thing, or you may not see it.</p>;
  switch (place.type) {
    case "platform":
      return <PlatformPage />;
    case "organization": {
      const found = tenants.organizations.find((one) => one.organization_id === place.id);
      if (found === undefined) return missing;
      return <OrganizationPage organization={found} projects={tenants.projects} onGo={onGo} />;
    }
    case "project": {
      if (project === undefined) return missing;
      const resources = tenants.resources.filter((one) => one.project_id === place.id);
      return <ProjectPage {...{ project, resources, unread, onRetry, onGo }} />;
    }
    case "resource": {
      const found = tenants.resources.find(
        (one) => one.resource_id === place.id && one.project_id === place.projectId,
      );
      if (unread === null) return <Waiting />;
      if (unread) return <Failure title="Resources" error={unread} onRetry={onRetry} />;
      if (found === undefined || project === undefined) return missing;
      return <ResourcePage resource={found} project={project} onGo={onGo} />;
    }
  }
}
