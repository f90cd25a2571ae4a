import { Globe } from "lucide-react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";

import { Access } from "./Access";
import { AuditLog } from "./AuditLog";
import { PermissionsFailure } from "./PermissionsFailure";
import { PLATFORM, useMayAt } from "./data";

/** All organizations together: who may what everywhere, and what was changed of that. */
export function PlatformPage() {
  const may = useMayAt(PLATFORM);
  return (
    <>
      <header className="control-head">
        <Globe size={20} aria-hidden />
        <h1>Platform</h1>
      </header>
      <PermissionsFailure scope={PLATFORM} />
      <Tabs>
        <TabList aria-label="Platform">
          {may("access/read") && <Tab id="access">Access</Tab>}
          {may("audit/read") && <Tab id="changes">Changes</Tab>}
        </TabList>
        <TabPanel id="access" className="control-panel">
          <Access scope={PLATFORM} organizationId={null} />
        </TabPanel>
        <TabPanel id="changes" className="control-panel">
          <AuditLog scope={PLATFORM} />
        </TabPanel>
      </Tabs>
    </>
  );
}
